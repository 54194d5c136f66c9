package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/go-chi/chi/v5"
)

const (
	socketMode = 0o600
	maxBody    = 64 << 10
	// socketMax is what the system takes of a path (sun_path), less its end.
	socketMax = 103
)

// Server answers commands.
type Server struct {
	listener net.Listener
	http     *http.Server
}

// Listen opens the socket of a database. One that a killed process left is
// replaced: whoever holds the database's lock is the only one to call this.
func Listen(ctx context.Context, database string, ops Operations) (*Server, error) {
	path := Path(database)
	if len(path) > socketMax {
		return nil, fmt.Errorf("the path %s is longer than the %d bytes that the system takes of a socket's", path, socketMax)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("replacing the socket of the process before: %w", err)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("opening the socket for commands: %w", err)
	}
	if err := os.Chmod(path, socketMode); err != nil {
		return nil, errors.Join(fmt.Errorf("protecting the socket for commands: %w", err), l.Close())
	}
	s := &http.Server{Handler: routes(ops), ReadHeaderTimeout: 5 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	return &Server{listener: l, http: s}, nil
}

// Serve answers until Stop.
func (s *Server) Serve() error {
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Stop ends it within ctx, and removes the socket.
func (s *Server) Stop(ctx context.Context) error {
	if err := s.http.Shutdown(ctx); err != nil {
		return errors.Join(err, s.http.Close())
	}
	return nil
}

func routes(ops Operations) http.Handler {
	r := chi.NewRouter()
	r.Post(approvePath, call(func(ctx context.Context, a approval) (approval, error) {
		var err error
		a.Channel, a.User, a.Found, err = ops.Approve(ctx, a.Code)
		return a, err
	}))
	r.Post(putOutPath, call(func(ctx context.Context, a approval) (approval, error) {
		var err error
		a.Found, err = ops.PutOut(ctx, a.Channel, a.User)
		return a, err
	}))
	r.Post(forgetPath, call(func(ctx context.Context, o oblivion) (oblivion, error) {
		var err error
		o.Known, err = ops.ForgetChat(ctx, o.Chat)
		return o, err
	}))
	return r
}

// call reads a body, does it and answers.
func call[T any](do func(context.Context, T) (T, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in T
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&in); err != nil {
			http.Error(w, "the call can't be read: "+err.Error(), http.StatusBadRequest)
			return
		}
		out, err := do(r.Context(), in)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out) // whoever asked has gone
	}
}
