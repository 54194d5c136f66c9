package locale

// The keys of all texts. In the configuration they are nested:
// locale: {en: {ai: {tools: {confirm: "…"}}}}.
const (
	AIError      = "ai.error"      // no model could answer
	AIErrorAfter = "ai.errorAfter" // the same after something was done; {actions}

	Confirm              = "ai.tools.confirm"              // typed question; {tool} {args}
	ConfirmButtons       = "ai.tools.confirmButtons"       // question with buttons; {tool} {args}
	ConfirmRepeat        = "ai.tools.confirmRepeat"        // done before; {tool} {result}
	ConfirmRepeatUnknown = "ai.tools.confirmRepeatUnknown" // maybe done before; {tool}
	ConfirmExpired       = "ai.tools.confirmExpired"       // a press that came too late
	ConfirmAnswered      = "ai.tools.confirmAnswered"      // a press was taken; {choice}
	ConfirmNote          = "ai.tools.confirmNote"          // system prompt; {tools}
	DoneNote             = "ai.tools.doneNote"             // system prompt; {actions}
	DoneUnknown          = "ai.tools.doneUnknown"          // beside an action of DoneNote
	DoneMore             = "ai.tools.doneMore"             // actions left out of DoneNote; {n}
	MaxSteps             = "ai.tools.maxSteps"             // the loop ended without an answer
	ButtonYes            = "ai.tools.button.yes"
	ButtonNo             = "ai.tools.button.no"
	NotYours             = "ai.tools.notYours" // a press by who may not answer

	ValueYes = "value.yes" // true as an argument
	ValueNo  = "value.no"  // false as an argument

	LimitQueue    = "limits.queue"
	LimitRate     = "limits.rate"
	LimitTooLarge = "limits.tooLarge"

	SenderCode = "sender.code" // to who may not write yet; {code}

	MediaUnsupported = "media.unsupported" // {type}: a text of MediaType

	CommandHelp          = "command.help"
	CommandStart         = "command.start"
	CommandReset         = "command.reset"
	CommandCancelDone    = "command.cancel.done"
	CommandCancelNothing = "command.cancel.nothing"
	CommandUnderWay      = "command.underWay"     // behind command.reset or command.cancel.done: a call that may have taken effect; {tool}
	CommandLangSet       = "command.lang.set"     // {language}
	CommandLangCurrent   = "command.lang.current" // {language} {languages}
	CommandLangUnknown   = "command.lang.unknown" // {languages}

	AlertDown = "alert.down" // to the operator: a channel doesn't work; {channel} {reason}
	AlertUp   = "alert.up"   // and works again; {channel}

	SystemLanguage = "system.language" // system prompt; {language}
	LanguageName   = "language.name"   // the language's own name for itself

	AgeNow     = "age.now"
	AgeMinute  = "age.minute"
	AgeMinutes = "age.minutes" // {n}
	AgeHour    = "age.hour"
	AgeHours   = "age.hours" // {n}
	AgeDay     = "age.day"
	AgeDays    = "age.days" // {n}
)

// mediaTypes are the types of channels.Media that have a word of their own,
// under media.type; the last one stands for all others.
func mediaTypes() []string {
	return []string{"image", "audio", "video", "document", "sticker", "location", "contact", "other"}
}

// placeholders lists what a text may hold, by key. A key without an entry
// holds none.
func placeholders() map[string][]string {
	return map[string][]string{
		AIErrorAfter:         {"actions"},
		Confirm:              {"tool", "args"},
		ConfirmButtons:       {"tool", "args"},
		ConfirmRepeat:        {"tool", "result"},
		ConfirmRepeatUnknown: {"tool"},
		ConfirmAnswered:      {"choice"},
		ConfirmNote:          {"tools"},
		DoneNote:             {"actions"},
		DoneMore:             {"n"},
		SenderCode:           {"code"},
		MediaUnsupported:     {"type"},
		CommandUnderWay:      {"tool"},
		CommandLangSet:       {"language"},
		CommandLangCurrent:   {"language", "languages"},
		CommandLangUnknown:   {"languages"},
		AlertDown:            {"channel", "reason"},
		AlertUp:              {"channel"},
		SystemLanguage:       {"language"},
		AgeMinutes:           {"n"},
		AgeHours:             {"n"},
		AgeDays:              {"n"},
	}
}
