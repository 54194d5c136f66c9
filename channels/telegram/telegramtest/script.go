package telegramtest

import (
	"context"
	"net/http"
	"slices"
)

// Fault makes calls fail.
type Fault struct {
	// Method says which; empty is any send or edit.
	Method string
	// Times is how many; 0 is one.
	Times int

	// Code and Description are the answer, RetryAfter and MovedTo its
	// parameters.
	Code        int
	Description string
	RetryAfter  int
	MovedTo     int64
	// Status and Raw, where Raw isn't empty, are an answer that isn't the
	// API's.
	Status int
	Raw    string

	// Done lets the call take effect first.
	Done bool
	// Drop closes the connection without an answer.
	Drop bool
	// Hold keeps the call waiting until it is closed or the caller leaves.
	Hold <-chan struct{}
}

// Script queues faults: each is used up by the first calls it is for.
func (s *Server) Script(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

func (s *Server) takeFault(method string) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.faults {
		f := s.faults[i]
		if f.Method != method && (f.Method != "" || method != "sendMessage" && method != "editMessageText") {
			continue
		}
		if f.Times > 1 {
			s.faults[i].Times--
		} else {
			s.faults = slices.Delete(s.faults, i, i+1)
		}
		return &f
	}
	return nil
}

// done carries a fault out that comes before the call; it tells whether the
// call is over.
func (f *Fault) done(w http.ResponseWriter, r *http.Request, s *Server, method string, params map[string]any) bool {
	if f.Hold != nil {
		s.hold(1)
		wait(r.Context(), s.ctx, f.Hold)
		s.hold(-1)
	}
	if f.Done || f.Code == 0 && f.Raw == "" && !f.Drop {
		return false
	}
	s.record(Call{Method: method, Params: params, Code: max(f.Code, f.Status, 1), Description: f.Description})
	return f.after(w)
}

func wait(a, b context.Context, c <-chan struct{}) {
	select {
	case <-a.Done():
	case <-b.Done():
	case <-c:
	}
}

// after answers in the fault's way, where it has one.
func (f *Fault) after(w http.ResponseWriter) bool {
	switch {
	case f.Drop:
		panic(http.ErrAbortHandler)
	case f.Raw != "":
		if f.Status != 0 {
			w.WriteHeader(f.Status)
		}
		_, _ = w.Write([]byte(f.Raw))
	case f.Code != 0:
		write(w, nil, &apiError{f.Code, f.Description, f.RetryAfter, f.MovedTo})
	default:
		return false
	}
	return true
}

// Held counts the calls that a fault keeps waiting.
func (s *Server) Held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

func (s *Server) hold(by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held += by
	s.Signal()
}
