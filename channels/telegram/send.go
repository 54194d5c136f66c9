package telegram

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	tg "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"github.com/parley-bot/parley/channels"
)

const (
	// maxButtons is what people can take in; Telegram allows some hundred.
	maxButtons = 8
	// maxNotice is the longest notice on a press, in UTF-16 units.
	maxNotice = 200
	// maxData is the longest callback_data, in bytes.
	maxData = 64
)

// Send makes one sendMessage call. A markup that Telegram can't parse is told
// as PermanentMessage, so that the outbox sends Part.Plain; a group that has
// become a supergroup as Temporary, so that the next attempt goes there.
func (a *Adapter) Send(ctx context.Context, part channels.Part) (channels.Receipt, error) {
	if part.Private != "" && part.Chat.Group {
		return channels.Receipt{}, never(channels.PermanentMessage, errors.New("in a group only a press can be answered privately"))
	}
	chat, moved, err := a.target(ctx, part.Chat.ID)
	if err != nil {
		return channels.Receipt{}, never(channels.PermanentChat, err)
	}
	params := &tg.SendMessageParams{
		ChatID: chat, Text: part.Text, ParseMode: mode(part.Markup), LinkPreviewOptions: noPreview(),
		MessageThreadID: thread(part.Chat), // of a topic only, never General
	}
	if params.ReplyMarkup, err = keyboard(part.Buttons); err != nil {
		return channels.Receipt{}, never(channels.PermanentMessage, err)
	}
	if id, err := strconv.Atoi(string(part.ReplyTo)); err == nil && id > 0 && !moved {
		params.ReplyParameters = &models.ReplyParameters{MessageID: id, AllowSendingWithoutReply: true}
	}
	call, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	m, err := a.api.SendMessage(call, params)
	if err != nil {
		return channels.Receipt{}, a.sendFailed(ctx, chat, err)
	}
	if m.ID == 0 {
		return channels.Receipt{}, &channels.SendError{Class: channels.Unknown, Err: errors.New("sent message has no id")}
	}
	return channels.Receipt{ID: receiptID(chat, moved, m.ID)}, nil
}

// sendFailed classifies, and remembers a move that Telegram tells of.
func (a *Adapter) sendFailed(ctx context.Context, chat int64, err error) error {
	if e, ok := errors.AsType[*apiError](err); ok && e.movedTo != 0 {
		// In memory at least, so that the next attempt goes there.
		a.moves.set(chat, e.movedTo)
		if err := a.moved(ctx, chat, e.movedTo); err != nil {
			a.log.Warn("a group's move could not be saved", "err", err)
		}
	}
	return a.http.sendError(err)
}

// Edit makes one editMessageText call; without buttons Telegram takes those
// away that were there.
func (a *Adapter) Edit(ctx context.Context, id channels.MessageID, part channels.Part) error {
	chat, message, err := sentMessage(part.Chat.ID, id)
	if err != nil {
		return never(channels.PermanentMessage, err)
	}
	params := &tg.EditMessageTextParams{
		ChatID: chat, MessageID: message, Text: part.Text, ParseMode: mode(part.Markup), LinkPreviewOptions: noPreview(),
	}
	if params.ReplyMarkup, err = keyboard(part.Buttons); err != nil {
		return never(channels.PermanentMessage, err)
	}
	call, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	_, err = a.api.EditMessageText(call, params)
	e, answered := errors.AsType[*apiError](err)
	switch {
	case err == nil, answered && e.says("message is not modified"):
		return nil
	case answered && e.movedTo != 0:
		// The message stays behind: nobody can edit it any more.
		return &channels.SendError{Class: channels.PermanentMessage, Code: strconv.Itoa(e.code), Err: e}
	}
	return a.http.sendError(err)
}

// Ack makes one answerCallbackQuery call, and none for a press that this
// process has answered. One that comes too late is no error: nothing can be
// done about it.
func (a *Adapter) Ack(ctx context.Context, in channels.Inbound, ack channels.PressAck) error {
	h, ok := in.Handle.(handle)
	if !ok || h.query == "" {
		return errors.New("not a press of telegram's")
	}
	if a.answered.has(h.query) {
		return nil
	}
	return a.answer(ctx, h.query, ack.Notice)
}

// Typing makes one sendChatAction call. The sign can't be taken away; it ends
// by itself, or with the next message.
func (a *Adapter) Typing(ctx context.Context, chat channels.Chat, until time.Time) {
	if until.IsZero() || !until.After(a.now()) {
		return
	}
	to, _, err := a.target(ctx, chat.ID)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err = a.api.SendChatAction(ctx, &tg.SendChatActionParams{ChatID: to, MessageThreadID: thread(chat), Action: models.ChatActionTyping})
	if err != nil && ctx.Err() == nil {
		a.log.Debug("sign of typing failed", "err", a.http.sendError(err))
	}
}

func never(class channels.SendClass, err error) error {
	return &channels.SendError{Class: class, Err: err}
}

func mode(m channels.Markup) models.ParseMode {
	if m == channels.MarkupHTML {
		return models.ParseModeHTML
	}
	return ""
}

func noPreview() *models.LinkPreviewOptions { return &models.LinkPreviewOptions{IsDisabled: tg.True()} }

func thread(c channels.Chat) int {
	if n, err := strconv.Atoi(string(c.Thread)); err == nil && n > generalTopic {
		return n
	}
	return 0
}

// markup and button are the library's without the fields it can't leave out.
type markup struct {
	Rows [][]button `json:"inline_keyboard"`
}

type button struct {
	Text string `json:"text"`
	Data string `json:"callback_data"`
}

// keyboard lays buttons out: short labels two in a row, others below each
// other. It is nil where there are none.
func keyboard(buttons []channels.Button) (models.ReplyMarkup, error) {
	if len(buttons) == 0 {
		return nil, nil
	}
	perRow := 2
	for _, b := range buttons {
		if len(b.ID) == 0 || len(b.ID) > maxData {
			return nil, fmt.Errorf("id of a button has %d bytes; 1 to %d are possible", len(b.ID), maxData)
		}
		if utf8.RuneCountInString(b.Label) > 20 {
			perRow = 1
		}
	}
	var m markup
	for i, b := range buttons {
		if i%perRow == 0 {
			m.Rows = append(m.Rows, nil)
		}
		row := &m.Rows[len(m.Rows)-1]
		*row = append(*row, button{b.Label, string(b.ID)})
	}
	return m, nil
}

// clipUTF16 is s cut to most UTF-16 units.
func clipUTF16(s string, most int) string {
	units := 0
	for i, r := range s {
		if units += max(1, utf16.RuneLen(r)); units > most {
			return s[:i]
		}
	}
	return s
}

// answered remembers the presses that this process has acknowledged, since a
// press may be delivered again and must be answered once.
type answered struct {
	mu    sync.Mutex
	ids   map[string]bool
	order []string
}

// maxAnswered: presses live for 150 s on Telegram's side.
const maxAnswered = 4096

func (a *answered) has(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ids[id]
}

func (a *answered) add(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ids[id] {
		return
	}
	if len(a.order) >= maxAnswered {
		delete(a.ids, a.order[0])
		a.order = a.order[1:]
	}
	a.ids[id] = true
	a.order = append(a.order, id)
}
