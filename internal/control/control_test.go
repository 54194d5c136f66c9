package control

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-bot/parley/channels"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type fakeOps struct{ err error }

func (f fakeOps) Approve(_ context.Context, code string) (string, channels.UserID, bool, error) {
	return "tg", channels.UserID("u " + code), code == "AAAA-2222", f.err
}

func (f fakeOps) PutOut(_ context.Context, channel string, user channels.UserID) (bool, error) {
	return channel == "tg" && user == "u", f.err
}

func (f fakeOps) ForgetChat(_ context.Context, chat string) (bool, error) {
	return chat == "tg:1", f.err
}

func listen(t *testing.T, database string, ops Operations) {
	t.Helper()
	s, err := Listen(t.Context(), database, ops)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve() }()
	t.Cleanup(func() {
		if err := errors.Join(s.Stop(context.Background()), <-ended); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		if _, err := os.Stat(Path(database)); !os.IsNotExist(err) {
			t.Errorf("the socket is left: %v", err)
		}
	})
}

func TestOperations_OverTheSocket(t *testing.T) {
	t.Parallel()
	database := filepath.Join(t.TempDir(), "p.db")
	if _, err := Dial(t.Context(), database); !errors.Is(err, ErrNobody) {
		t.Errorf("without a daemon: %v", err)
	}
	// What a killed process leaves: a socket that nobody listens at.
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", Path(database))
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(t.Context(), database); !errors.Is(err, ErrNobody) {
		t.Errorf("after a kill: %v", err)
	}

	listen(t, database, fakeOps{})
	if info, err := os.Stat(Path(database)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket %v %v", info, err)
	}
	c, err := Dial(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	channel, user, found, err := c.Approve(t.Context(), "AAAA-2222")
	if err != nil || !found || channel != "tg" || user != "u AAAA-2222" {
		t.Errorf("approve: %q %q %v %v", channel, user, found, err)
	}
	if _, _, found, err := c.Approve(t.Context(), "other"); err != nil || found {
		t.Errorf("approve of another: %v %v", found, err)
	}
	if found, err := c.PutOut(t.Context(), "tg", "u"); err != nil || !found {
		t.Errorf("put out: %v %v", found, err)
	}
}

func TestForget_OverTheSocket(t *testing.T) {
	t.Parallel()
	database := filepath.Join(t.TempDir(), "p.db")
	listen(t, database, fakeOps{})
	c, err := Dial(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	for chat, want := range map[string]bool{"tg:1": true, "tg:2": false} {
		if known, err := c.ForgetChat(t.Context(), chat); err != nil || known != want {
			t.Errorf("%s: %v %v", chat, known, err)
		}
	}
}

func TestOperations_ErrorsComeThrough(t *testing.T) {
	t.Parallel()
	database := filepath.Join(t.TempDir(), "p.db")
	listen(t, database, fakeOps{errors.New("the store can't be written now")})
	c, err := Dial(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.PutOut(t.Context(), "tg", "u"); err == nil || !strings.Contains(err.Error(), "the store can't be written now") {
		t.Errorf("got %v", err)
	}
}

func TestListen_PathTooLong(t *testing.T) {
	t.Parallel()
	_, err := Listen(t.Context(), filepath.Join(t.TempDir(), strings.Repeat("x", 110)), fakeOps{})
	if err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("got %v", err)
	}
}
