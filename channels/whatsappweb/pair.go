package whatsappweb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/parley-bot/parley/channels"
)

// ErrLinked is the error of Pair where the account is linked already.
var ErrLinked = errors.New("a device is linked already")

// codeTime is how long each code of a connection is good, the first one longer.
const (
	firstCodeTime = time.Minute
	codeTime      = 20 * time.Second
)

// Pair links the bot to an account. show gets each code as it becomes good:
// what a QR code has to say, or, where phone is given, the eight characters to
// type into that phone. It returns nil when the device is linked and the
// server has its keys, and ErrLinked where it was before.
func (a *Adapter) Pair(ctx context.Context, phone string, show func(code string)) error {
	if phone != "" {
		phone = strings.NewReplacer(" ", "", "-", "", "(", "", ")", "").Replace(phone)
		if n := strings.TrimPrefix(phone, "+"); !digits(n) || len(n) < 7 || n[0] == '0' {
			return errors.New("the phone number must be in international form, such as +15551234567")
		}
	}
	st, err := a.deps.Open(ctx)
	if err != nil {
		if a.deps.InUse(err) {
			return fmt.Errorf("%w: a running parley is connected with it, so that a device is linked (or another pairing is under way)", err)
		}
		return err
	}
	err = a.pair(ctx, st, phone, show)
	return errors.Join(err, st.Close())
}

func (a *Adapter) pair(ctx context.Context, st Store, phone string, show func(code string)) error {
	if err := a.vacant(ctx, st); err != nil {
		return err
	}
	for {
		dev, err := st.Device(ctx)
		if err != nil {
			return err
		}
		d := device{dev}
		if d.linked() { // and the connection was lost before all was done
			return a.settle(ctx, d)
		}
		again, err := a.offer(ctx, d, phone, show)
		if err != nil || !again {
			return err
		}
	}
}

// vacant makes sure that no device is linked: one that WhatsApp has removed
// while the bot was away is forgotten.
func (a *Adapter) vacant(ctx context.Context, st Store) error {
	dev, err := st.Device(ctx)
	if err != nil || !(device{dev}).linked() {
		return err
	}
	d := device{dev}
	phone := d.phone()
	switch err := a.settle(ctx, d); {
	case err == nil:
		return fmt.Errorf("%w, as %s: to link another, log this one out on the phone first (Settings, Linked devices)", ErrLinked, phone)
	case !errors.Is(err, errUnlinked):
		return fmt.Errorf("a device was linked before, as %s, and it can't be seen whether it still is: %w", phone, err)
	}
	return st.Forget(ctx)
}

// errUnlinked is the error of settle where WhatsApp doesn't know the device.
var errUnlinked = errors.New("the device is not linked any more")

// events is a client whose events come one by one.
func (a *Adapter) events(d device) (*whatsmeow.Client, <-chan any) {
	cli := a.client(d, nil)
	ch := make(chan any, 64)
	cli.AddEventHandlerWithSuccessStatus(func(evt any) bool {
		switch evt.(type) {
		case *events.Message, *events.Receipt:
			return false // the daemon's: it comes again
		}
		select {
		case ch <- evt:
		default: // nobody waits for so many
		}
		return true
	})
	return cli, ch
}

// settle connects a linked device once, until the server has its keys.
func (a *Adapter) settle(ctx context.Context, d device) error {
	for n := 1; ; n++ {
		link, err := a.visit(ctx, d)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if link.State.Lasting() || n == 5 {
			return err
		}
		if err := a.rest(ctx, channels.BackOff(n, longestWait)); err != nil {
			return err
		}
	}
}

// visit is one connection of settle.
func (a *Adapter) visit(ctx context.Context, d device) (channels.Link, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, dialTime, errors.New("WhatsApp didn't answer within "+dialTime.String()))
	defer cancel()
	cli, ch := a.events(d)
	defer leave(cli)
	if err := cli.ConnectContext(ctx); err != nil {
		return channels.Link{}, fmt.Errorf("connecting to WhatsApp: %s", briefly(err))
	}
	for {
		select {
		case <-ctx.Done():
			return channels.Link{}, context.Cause(ctx)
		case evt := <-ch:
			if _, ok := evt.(*events.Connected); ok {
				return channels.Link{}, nil
			}
			e, over := verdict(evt, a.now())
			switch {
			case e.gone:
				return e.link, fmt.Errorf("%w: %s", errUnlinked, e.link.Detail)
			case over:
				return e.link, errors.New(e.link.String())
			}
		}
	}
}

// offer shows the codes of one connection. again is true where they have run
// out, or where the device is linked and has to connect anew.
func (a *Adapter) offer(ctx context.Context, d device, phone string, show func(code string)) (again bool, err error) {
	life, cancel := context.WithCancel(ctx)
	defer cancel()
	cli, ch := a.events(d)
	defer leave(cli)
	limit := time.AfterFunc(dialTime, cancel)
	err = cli.ConnectContext(life)
	limit.Stop()
	if err != nil {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		return false, fmt.Errorf("connecting to WhatsApp: %s", briefly(err))
	}
	var codes []string
	next := time.NewTimer(loginTime)
	defer next.Stop()
	turn := func(long time.Duration) {
		if len(codes) > 0 && phone == "" {
			show(codes[0])
			codes = codes[1:]
		}
		next.Reset(long)
	}
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-next.C:
			if len(codes) == 0 && phone == "" {
				return true, nil
			}
			turn(a.codeTimes[1])
		case evt := <-ch:
			switch e := evt.(type) {
			case *events.QR:
				codes = e.Codes
				if phone != "" {
					code, err := cli.PairPhone(life, phone, true, whatsmeow.PairClientChrome, "Chrome (Linux)")
					if err != nil {
						return false, fmt.Errorf("asking for a pairing code: %w", err)
					}
					show(code)
				}
				turn(a.codeTimes[0])
			case *events.PairError:
				return false, fmt.Errorf("pairing: %w", e.Error)
			case *events.PairSuccess:
				// The server now ends the stream, and wants the device to
				// connect as what it is.
				next.Reset(loginTime)
				codes, phone = nil, ""
			default:
				if v, over := verdict(evt, a.now()); over {
					if v.link.State.Lasting() {
						return false, errors.New(v.link.String())
					}
					return true, nil
				}
			}
		}
	}
}

// Check connects once, where a device is linked and nobody else is connected
// with it.
func (a *Adapter) Check(ctx context.Context) (string, error) {
	st, err := a.deps.Open(ctx)
	if err != nil {
		if a.deps.InUse(err) {
			return "in use by a running parley", nil
		}
		return "", err
	}
	account, err := a.check(ctx, st)
	return account, errors.Join(err, st.Close())
}

func (a *Adapter) check(ctx context.Context, st Store) (string, error) {
	dev, err := st.Device(ctx)
	if err != nil {
		return "", err
	}
	d := device{dev}
	if !d.linked() {
		return "", errors.New("no device is linked: run parley pair " + a.deps.Name)
	}
	phone := d.phone()
	if _, err := a.visit(ctx, d); err != nil {
		return "", err
	}
	return phone, nil
}
