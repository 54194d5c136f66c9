package telegramtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// hook is the webhook and what waits for it: one queue a chat for messages,
// one a person for presses, each in order, as Telegram has it.
type hook struct {
	url, secret string
	allowed     any
	most        int64
	queues      map[string][]pending
	lastError   string
	lastDate    int64
	answers     []int
}

func (p pending) queue() string {
	if p.kind == "callback_query" {
		from, _ := p.body["from"].(map[string]any)
		return fmt.Sprint("press ", from["id"])
	}
	chat, _ := p.body["chat"].(map[string]any)
	return fmt.Sprint("chat ", chat["id"])
}

// enqueue starts a worker for a queue that was empty; s.mu is held.
func (s *Server) enqueue(p pending) {
	key := p.queue()
	s.hook.queues[key] = append(s.hook.queues[key], p)
	if len(s.hook.queues[key]) == 1 && s.ctx.Err() == nil {
		s.work.Go(func() { s.drain(key) })
	}
}

// drain delivers a queue's updates until each is answered 2xx.
func (s *Server) drain(key string) {
	for wait := 5 * time.Millisecond; ; {
		s.mu.Lock()
		q := s.hook.queues[key]
		if len(q) == 0 || s.hook.url == "" {
			s.mu.Unlock()
			return
		}
		url, secret := s.hook.url, s.hook.secret
		s.mu.Unlock()
		code, _, err := s.post(s.ctx, url, secret, q[0].encode())
		if s.ctx.Err() != nil {
			return
		}
		s.mu.Lock()
		if err != nil {
			s.hook.lastError = "Connection failed"
		} else if code/100 != 2 {
			s.hook.lastError = "Wrong response from the webhook: " + strconv.Itoa(code) + " " + http.StatusText(code)
		}
		done := err == nil && code/100 == 2
		if done && len(s.hook.queues[key]) > 0 {
			s.hook.queues[key] = s.hook.queues[key][1:]
			wait = 5 * time.Millisecond
		}
		if !done {
			s.hook.lastDate = s.opts.Now().Unix()
		}
		s.hook.answers = append(s.hook.answers, code)
		s.Signal()
		s.mu.Unlock()
		if !done {
			t := time.NewTimer(wait)
			select {
			case <-t.C:
			case <-s.ctx.Done():
				t.Stop()
				return
			}
			wait = min(2*wait, 200*time.Millisecond)
		}
	}
}

func (s *Server) post(ctx context.Context, url, secret string, body []byte) (code int, h http.Header, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if secret != "" {
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
	}
	resp, err := s.opts.Client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Header, nil
}

// DeliverTo makes one delivery to url, whatever webhook is set, and returns
// how it was answered.
func (s *Server) DeliverTo(ctx context.Context, url, secret, kind string, body map[string]any) (code int, h http.Header, err error) {
	s.mu.Lock()
	s.nextID++
	p := pending{s.nextID, kind, body}
	s.mu.Unlock()
	return s.post(ctx, url, secret, p.encode())
}

// Answers are the statuses that the webhook gave, in order; 0 is none.
func (s *Server) Answers() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]int(nil), s.hook.answers...)
}

func (s *Server) setWebhook(p map[string]any) (any, *apiError) {
	url, _ := p["url"].(string)
	if url == "" {
		return s.deleteWebhook(p)
	}
	secret, _ := p["secret_token"].(string)
	switch {
	// Telegram demands https; tests are served on loopback without.
	case !strings.HasPrefix(url, "https://") && !strings.HasPrefix(url, "http://127.0.0.1:"):
		return nil, bad("bad webhook: An HTTPS URL must be provided for webhook")
	case len(secret) > 256 || strings.Trim(secret, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "":
		return nil, bad("secret token contains unallowed characters")
	}
	most, given := p["max_connections"].(int64)
	if given && (most < 1 || most > 100) {
		return nil, bad("max_connections is out of range")
	}
	if s.poll != nil {
		s.poll(errHook)
	}
	s.hook.url, s.hook.secret, s.hook.allowed, s.hook.most = url, secret, p["allowed_updates"], most
	if p["drop_pending_updates"] == true {
		s.updates = nil
	}
	for _, u := range s.updates {
		s.enqueue(u)
	}
	s.updates = nil
	return true, nil
}

func (s *Server) deleteWebhook(p map[string]any) (any, *apiError) {
	if p["drop_pending_updates"] != true {
		for _, q := range s.hook.queues {
			s.updates = append(s.updates, q...)
		}
	}
	s.hook.queues = map[string][]pending{}
	s.hook.url, s.hook.secret = "", ""
	return true, nil
}

func (s *Server) webhookInfo() any {
	n := len(s.updates)
	for _, q := range s.hook.queues {
		n += len(q)
	}
	m := map[string]any{"url": s.hook.url, "has_custom_certificate": false, "pending_update_count": n}
	if s.hook.lastError != "" {
		m["last_error_message"], m["last_error_date"] = s.hook.lastError, s.hook.lastDate
	}
	if s.hook.most > 0 {
		m["max_connections"] = s.hook.most
	}
	if s.hook.allowed != nil {
		m["allowed_updates"] = s.hook.allowed
	}
	return m
}

// Secret is the webhook's secret as it was set.
func (s *Server) Secret() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hook.secret
}
