package locale

func english() map[string]string {
	return map[string]string{
		AIError:      "Sorry, something went wrong on my side. Please try again in a moment.",
		AIErrorAfter: "Done: {actions}. I couldn't write the rest.",

		Confirm:              "About to: {tool}{args}\nDo you confirm? (yes/no)",
		ConfirmButtons:       "About to: {tool}{args}\nDo you confirm?",
		ConfirmRepeat:        "Heads-up: I already did «{tool}» a moment ago (result: {result}). Confirming will do it again.",
		ConfirmRepeatUnknown: "Heads-up: I may already have done «{tool}» a moment ago, but I couldn't see whether it worked. Confirming may do it twice.",
		ConfirmExpired:       "That confirmation is no longer active.",
		ConfirmAnswered:      "Answer received: {choice}.",
		ConfirmNote: "The system itself asks the user to confirm these tools before they run: {tools}. " +
			"Call the tool as soon as the user expresses the intent; don't ask \"shall I do it?\" first and don't mention the confirmation process. " +
			"Never say that you have done, changed or cancelled something unless a tool result confirmed it. " +
			"If there is no tool for what the user asks, say so plainly.",
		DoneNote: "Already done in this conversation, newest first:\n{actions}\n" +
			"Don't do any of these again unless the user asks for it explicitly.",
		DoneUnknown: "outcome uncertain: it may or may not have taken effect",
		DoneMore:    "and {n} earlier",
		MaxSteps:    "I couldn't complete the request. Please try again with more detail.",
		ButtonYes:   "Yes",
		ButtonNo:    "No",
		NotYours:    "Only the person who was asked can answer this.",

		ValueYes: "yes",
		ValueNo:  "no",

		LimitQueue:    "You're writing faster than I can answer. Please wait for my replies, then send that again.",
		LimitRate:     "That's a lot of messages at once. Please wait a moment and try again.",
		LimitTooLarge: "That message is too long for me. Please send a shorter one.",

		SenderCode: "I don't know you yet. Please give this code to whoever runs this bot, and write to me again when you were let in: {code}",

		MediaUnsupported:      "I can only read text, so I can't open this: {type}. Please write it to me.",
		"media.type.image":    "image",
		"media.type.audio":    "audio",
		"media.type.video":    "video",
		"media.type.document": "document",
		"media.type.sticker":  "sticker",
		"media.type.location": "location",
		"media.type.contact":  "contact",
		"media.type.other":    "file",

		CommandHelp: "Write to me in your own words. You can also use:\n" +
			"/reset – start over and forget this conversation\n" +
			"/cancel – stop what is going on\n" +
			"/lang – see or change the language\n" +
			"/help – show this",
		CommandStart:         "Hello! How can I help you?",
		CommandReset:         "Done. I have forgotten this conversation; we can start over.",
		CommandCancelDone:    "Cancelled.",
		CommandCancelNothing: "There is nothing to cancel.",
		CommandUnderWay:      "«{tool}» was already under way and may have taken effect.",
		CommandLangSet:       "From now on I'll write in {language}.",
		CommandLangCurrent:   "I'm writing in {language}. Available: {languages}. To change it, send /lang and the code.",
		CommandLangUnknown:   "I don't have that language. Available: {languages}.",

		AlertDown: "The channel {channel} isn't working. {reason}",
		AlertUp:   "The channel {channel} is working again.",

		SystemLanguage: "Write to the user in {language}, unless they write in another language.",
		LanguageName:   "English",

		AgeNow:     "just now",
		AgeMinute:  "1 minute ago",
		AgeMinutes: "{n} minutes ago",
		AgeHour:    "1 hour ago",
		AgeHours:   "{n} hours ago",
		AgeDay:     "1 day ago",
		AgeDays:    "{n} days ago",
	}
}
