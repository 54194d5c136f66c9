package channels

import "time"

// Identifiers are opaque to everybody but the adapter that made them.
type (
	// ChatID names a conversation on the platform, unique in its account.
	ChatID string
	// ThreadID names a topic or thread within a chat, unique in that chat.
	ThreadID string
	// UserID names a person, unique in the account.
	UserID string
	// MessageID names a message, unique in its chat; of a press it is the
	// callback or interaction id.
	MessageID string
	// ButtonID is ours: 16 to 64 bytes of ASCII that nobody can guess.
	ButtonID string
)

// Chat says where a message was said.
type Chat struct {
	ID     ChatID   `json:"id"`
	Thread ThreadID `json:"thread,omitempty"`
	// Group is true where more people than one can write.
	Group bool `json:"group,omitempty"`
}

// User is who said it, as the platform vouches for it.
type User struct {
	ID   UserID `json:"id"`
	Name string `json:"name,omitempty"`
	// Lang is the language the platform tells of the person (BCP 47), or "".
	Lang string `json:"lang,omitempty"`
	// Claims are facts that the channel verified (a phone number, a login).
	Claims map[string]string `json:"claims,omitempty"`
}

// Kind says what an Inbound is.
type Kind string

// The kinds of Inbound.
const (
	KindMessage Kind = "message"
	KindEdit    Kind = "edit"
	KindPress   Kind = "press"
)

// Inbound is one thing that a person did, in the core's words.
type Inbound struct {
	Kind Kind      `json:"kind"`
	ID   MessageID `json:"id"`
	Chat Chat      `json:"chat"`
	From User      `json:"from"`
	// Text is the message or the caption; for a press it is empty.
	Text string `json:"text,omitempty"`
	// Media lists what came with it. A message may have media and no text.
	Media []Media `json:"media,omitempty"`
	// Button is the pressed button's id (KindPress only).
	Button ButtonID `json:"button,omitempty"`
	// EditStamp tells two edits of one message apart (KindEdit only).
	EditStamp string `json:"edit_stamp,omitempty"`
	// ReplyTo is the message this one answers to, if the platform says so.
	ReplyTo MessageID `json:"reply_to,omitempty"`
	// Mentioned is true when the bot was addressed by name, by a command
	// with its name, or by a reply to one of its messages.
	Mentioned bool `json:"mentioned,omitempty"`
	// At is the platform's own time of it; zero where it has none.
	At time.Time `json:"at,omitzero"`
	// Handle is the adapter's own, handed back to Acker.Ack. Not stored.
	Handle any `json:"-"`
}

// Media is a file that came with a message.
type Media struct {
	// Type is image, audio, video, document, sticker, location, contact or
	// other.
	Type string `json:"type"`
	MIME string `json:"mime,omitempty"`
	Name string `json:"name,omitempty"`
	Size int64  `json:"size,omitempty"`
	// Ref is what the adapter needs to fetch it.
	Ref string `json:"ref,omitempty"`
}

// Markup is the dialect a text is written in.
type Markup string

// The dialects. The empty one is plain text. A text that has none of the
// platform's marks is sent as plain text; where a platform reads every text in
// its dialect, both are sent as they are.
const (
	MarkupPlain    Markup = ""
	MarkupHTML     Markup = "html"     // Telegram's HTML subset
	MarkupDiscord  Markup = "discord"  // Discord's Markdown
	MarkupWhatsApp Markup = "whatsapp" // WhatsApp's *bold* _italic_
)

// Button is one choice below a message.
type Button struct {
	ID    ButtonID `json:"id"`
	Label string   `json:"label"`
	// Value is what a press means: yes or no.
	Value string `json:"value"`
}

// Part is one message ready to send: rendered, within the platform's limits.
type Part struct {
	Chat    Chat      `json:"chat"`
	Text    string    `json:"text"`
	Markup  Markup    `json:"markup,omitempty"`
	Plain   string    `json:"plain,omitempty"` // fallback where the markup is refused
	Buttons []Button  `json:"buttons,omitempty"`
	ReplyTo MessageID `json:"reply_to,omitempty"`
	// Private asks that only this person sees it, where the platform can.
	Private UserID `json:"private,omitempty"`
	// Draft is true where the text isn't whole yet: edits of the message
	// will follow.
	Draft bool `json:"draft,omitempty"`
	// Key is the idempotency key: the same part sent again has the same key.
	Key string `json:"key,omitempty"`
}

// Receipt is what a platform returned for a Part.
type Receipt struct {
	ID MessageID
}

// PressOutcome is what became of a press.
type PressOutcome string

// The outcomes of a press.
const (
	// PressAccepted: the press answered the question.
	PressAccepted PressOutcome = "accepted"
	// PressStale: the question isn't pending any more; nothing changed.
	PressStale PressOutcome = "stale"
	// PressNotYours: that person may not answer; nothing changed.
	PressNotYours PressOutcome = "not_yours"
	// PressPending: undecided after a second; acknowledge it bare.
	PressPending PressOutcome = "pending"
)

// PressAck is what an adapter tells its platform of a press.
type PressAck struct {
	Outcome PressOutcome
	// Notice is a short localized text for the presser, or "".
	Notice string
}

// LogEntry is one line of a chat's log.
type LogEntry struct {
	// N counts from 1 within the chat, without gaps.
	N int64 `json:"n"`
	// ID names the message; an edit has an ID of its own.
	ID   MessageID `json:"id"`
	From string    `json:"from"` // bot, user or human
	Text string    `json:"text"`
	// Buttons are those the message was sent with.
	Buttons []Button `json:"buttons,omitempty"`
	// EditOf is the message whose text and buttons this entry replaces.
	EditOf MessageID `json:"edit_of,omitempty"`
	At     time.Time `json:"at"`
}

// The values of LogEntry.From.
const (
	FromBot   = "bot"
	FromUser  = "user"
	FromHuman = "human"
)
