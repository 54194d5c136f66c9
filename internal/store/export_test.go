package store

// HotQueries are run for each message, step, send or timer.
var HotQueries = map[string]string{
	"lane": qLaneGet, "queue": qInboxQueue, "head": qInboxHead, "taken": qInboxTaken,
	"question by token": qWaitGet, "questions of a chat": qWaitChat, "answer of a turn": qWaitTurn, "question of a turn": qWaitOpen,
	"questions that are over": qWaitDue, "next expiry": qWaitNext,
	"first entry": qOutFirst, "entry": qOutGet, "mark": qOutMark, "target": qOutTarget,
	"draft": qDraftGet, "turn": qTurnGet, "calls": qCalls, "end of calls": qCallsEnd, "history": qHistRead, "log": qLogRead,
}
