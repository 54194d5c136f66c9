package store

// HotQueries are run for each message, step, send or timer.
var HotQueries = map[string]string{
	"lane": qLaneGet, "queue": qInboxQueue, "head": qInboxHead, "taken": qInboxTaken,
	"question by token": qWaitGet, "questions of a chat": qWaitChat, "answer of a turn": qWaitTurn, "question of a turn": qWaitOpen,
	"questions that are over": qWaitDue, "place of a question": qWaitPlace, "lanes of questions": qWaitLanes, "question of an entry": qOutLane, "next expiry": qWaitNext,
	"first entry": qOutFirst, "entry": qOutGet, "mark": qOutMark, "target": qOutTarget,
	"draft": qDraftGet, "turn": qTurnGet, "calls": qCalls, "end of calls": qCallsEnd, "history": qHistRead, "log": qLogRead,
}

// Claimed is how many claims are kept in memory.
func Claimed(s *Store) int { return s.claims.len() }
