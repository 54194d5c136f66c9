package llmtest

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/parley-bot/parley/internal/llm"
)

// failures proves the classes of errors.
func (s suite) failures(t *testing.T, stream bool) {
	for name, tc := range map[string]struct {
		needs   Scenario
		failure Failure
	}{
		"rate limited":     {failure: Failure{Class: llm.RateLimited}},
		"with retry-after": {failure: Failure{Class: llm.RateLimited, After: 7 * time.Second}},
		"overloaded":       {failure: Failure{Class: llm.Overloaded, After: 2 * time.Second}},
		"server error":     {failure: Failure{Class: llm.Temporary}},
		"bad key":          {failure: Failure{Class: llm.Auth}},
		"bad request":      {failure: Failure{Class: llm.BadRequest}},
		"context too long": {failure: Failure{Class: llm.ContextTooLong}},
		"filtered":         {needs: Filtered, failure: Failure{Class: llm.Filtered}},
		"no tools":         {needs: NoTools, failure: Failure{Class: llm.NoTools}},
	} {
		if tc.needs != "" && s.b.Lacks(tc.needs) {
			continue
		}
		t.Run("failure "+name, func(t *testing.T) {
			t.Parallel()
			srv, p := s.serve(t, func(w http.ResponseWriter, _ *http.Request, _ []byte) {
				f := tc.failure
				f.Message = "it went wrong for " + canary
				s.b.Fail(w, f)
			})
			_, err := generate(t.Context(), p, stream)
			failure := mustFail(t, p, err, tc.failure.Class)
			if failure.After != tc.failure.After {
				t.Errorf("after %v, want %v", failure.After, tc.failure.After)
			}
			if failure.Status < 400 {
				t.Errorf("status %d", failure.Status)
			}
			if n := len(srv.requests()); n != 1 {
				t.Errorf("%d requests: retries are the chain's", n)
			}
		})
	}
	for name, tc := range map[string]struct {
		status int
		body   string
		class  llm.Class
	}{
		"HTML":       {http.StatusBadGateway, "<html><h1>502 Bad Gateway</h1>" + canary, llm.Temporary},
		"nothing":    {http.StatusInternalServerError, "", llm.Temporary},
		"a 200":      {http.StatusOK, "<html>captive portal " + canary, llm.Temporary},
		"empty 200":  {http.StatusOK, "", llm.Temporary},
		"null":       {http.StatusOK, "null", llm.Temporary},
		"redirected": {http.StatusTemporaryRedirect, canary, llm.BadRequest},
		"huge":       {http.StatusInternalServerError, strings.Repeat("x", 3<<20), llm.Temporary},
	} {
		t.Run("not the API: "+name, func(t *testing.T) {
			t.Parallel()
			srv, p := s.serve(t, func(w http.ResponseWriter, r *http.Request, _ []byte) {
				w.Header().Set("Location", "http://"+r.Host+"/elsewhere")
				w.Header().Set("Content-Type", "text/html")
				w.WriteHeader(tc.status)
				_, _ = w.Write([]byte(tc.body))
			})
			_, err := generate(t.Context(), p, stream)
			mustFail(t, p, err, tc.class)
			if len(err.Error()) > 1000 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			if n := len(srv.requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
	t.Run("answer without end", func(t *testing.T) {
		t.Parallel()
		_, p := s.answering(t, Answer{Pieces: []string{strings.Repeat("x", llm.MaxBody)}, Stop: llm.StopEnd})
		if _, err := generate(t.Context(), p, stream); err == nil {
			t.Error("an answer over the limit is taken")
		} else if len(err.Error()) > 1000 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	})
}

// cuts proves that half a stream is never taken for an answer.
func (s suite) cuts(t *testing.T) {
	t.Parallel()
	call := []llm.Call{{ID: "c1", Name: "place_order", Args: `{}`}}
	for name, a := range map[string]Answer{
		"in text":       {Pieces: []string{"I have ", "ordered"}, Unfinished: true},
		"in calls":      {Calls: call, Unfinished: true},
		"before all":    {Unfinished: true},
		"by an error":   {Pieces: []string{"I have "}, Unfinished: true, ErrorEvent: true},
		"error at once": {Unfinished: true, ErrorEvent: true},
	} {
		if a.ErrorEvent && s.b.Lacks(ErrorInSSE) {
			continue
		}
		for _, hard := range []bool{false, true} {
			how := ", cleanly"
			if hard {
				how = ", connection lost"
			}
			t.Run(name+how, func(t *testing.T) {
				t.Parallel()
				_, p := s.serve(t, func(w http.ResponseWriter, r *http.Request, body []byte) {
					s.b.Answer(w, r, body, a)
					if hard {
						_ = http.NewResponseController(w).Flush()
						panic(http.ErrAbortHandler)
					}
				})
				_, err := generate(t.Context(), p, true)
				failure := mustFail(t, p, err, llm.Temporary)
				if !failure.Retryable() {
					t.Error("not retryable")
				}
			})
		}
	}
}
