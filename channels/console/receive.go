package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/parley-bot/parley/channels"
)

// maxLine bounds a line in memory; a longer one is read to its end and refused.
const maxLine = 1 << 20

type line struct {
	text    string
	tooLong bool
	err     error
}

// Run hands each line to sink. It returns nil when ctx or the input ended.
func (a *Adapter) Run(ctx context.Context, sink channels.Sink) error {
	lines, quit := make(chan line), make(chan struct{})
	reading := true
	defer func() {
		close(quit)
		if reading {
			interrupt(a.cfg.In)
		}
	}()
	go read(a.cfg.In, lines, quit)

	if a.cfg.Interactive {
		if _, err := a.print(""); err != nil {
			return fmt.Errorf("console: writing the prompt: %w", err)
		}
	}
	for {
		var l line
		select {
		case <-ctx.Done():
			return nil
		case l = <-lines:
			reading = l.err == nil
		}
		if a.cfg.Turn != nil && (l.err == nil || errors.Is(l.err, io.EOF)) {
			if err := a.cfg.Turn(ctx); err != nil && ctx.Err() == nil {
				return fmt.Errorf("console: waiting for the bot: %w", err)
			}
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(l.err, io.EOF):
			a.leave()
			return nil
		case l.err != nil:
			return fmt.Errorf("console: reading a line: %w", l.err)
		}
		a.take(ctx, sink, l)
	}
}

// take hands one line on. A blank one is no message, just a new prompt.
func (a *Adapter) take(ctx context.Context, sink channels.Sink, l line) {
	text := strings.ToValidUTF8(l.text, "\uFFFD")
	switch {
	case l.tooLong:
		a.note(refusal(a.cfg.Lang, &channels.RefusedError{Reason: channels.RefusedTooLarge}))
		return
	case strings.TrimSpace(text) == "":
		if a.cfg.Interactive {
			_, _ = a.print("")
		}
		return
	}
	if a.cfg.Interactive {
		_, _ = a.print("")
	}
	err := sink.Accept(ctx, channels.Inbound{
		Kind: channels.KindMessage, ID: a.newID("in"), Chat: channels.Chat{ID: ChatID},
		From: channels.User{ID: channels.UserID(ChatID), Name: a.cfg.User, Lang: a.cfg.Lang},
		Text: text, Mentioned: true, At: time.Now(),
	})
	if err == nil || ctx.Err() != nil {
		return
	}
	if _, refused := errors.AsType[*channels.RefusedError](err); !refused {
		a.log.ErrorContext(ctx, "message not taken", "err", err)
	}
	a.note(refusal(a.cfg.Lang, err))
}

// read sends lines until the input ends or nobody wants them any more.
func read(in io.Reader, lines chan<- line, quit <-chan struct{}) {
	r := bufio.NewReader(in)
	for {
		l := readLine(r)
		select {
		case lines <- l:
		case <-quit:
			return
		}
		if l.err != nil {
			return
		}
	}
}

// readLine reads one line without its end; the last one needs none.
func readLine(r *bufio.Reader) line {
	var b strings.Builder
	tooLong := false
	for {
		piece, more, err := r.ReadLine()
		if err != nil {
			// What came before an error that is no end counts for nothing:
			// nobody knows whether the line was whole.
			return line{err: err}
		}
		if tooLong = tooLong || b.Len()+len(piece) > maxLine; tooLong {
			b.Reset()
		} else {
			b.Write(piece)
		}
		if !more {
			return line{text: b.String(), tooLong: tooLong}
		}
	}
}

// interrupt ends a read that waits, as far as in lets us. A terminal has no
// deadline, and to close it wouldn't end the read.
func interrupt(in io.Reader) {
	if d, ok := in.(interface{ SetReadDeadline(time.Time) error }); ok && d.SetReadDeadline(time.Now()) == nil {
		return
	}
	if _, file := in.(*os.File); file {
		return
	}
	if c, ok := in.(io.Closer); ok {
		_ = c.Close()
	}
}
