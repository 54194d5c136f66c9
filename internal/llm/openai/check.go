package openai

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/parley-bot/parley/internal/llm"
)

// Check asks for the list of models, which proves the address, and the key
// where the server wants one for it. Whether the model is there isn't looked
// up: Azure's deployments, aliases and the names of local servers aren't in
// their lists. A server without a list (404, 405) isn't found fault with where
// it answers in the API's own form.
func (p *Provider) Check(ctx context.Context, _ bool) error {
	if p.models == "" {
		return nil
	}
	err := p.Caller.Do(ctx, llm.Exchange{
		URL: p.models, Header: p.header(false), Refused: func(status int, body []byte) *llm.Error {
			e := p.refused(status, body)
			if (status == http.StatusNotFound || status == http.StatusMethodNotAllowed) && json.Valid(body) {
				e.Class = noList
			}
			return e
		},
		Read: func(r io.Reader) error {
			var list []json.RawMessage
			var wrapped struct {
				Data *[]json.RawMessage `json:"data"`
			}
			raw, err := io.ReadAll(r)
			if err != nil {
				return err
			}
			if json.Unmarshal(raw, &list) != nil && (json.Unmarshal(raw, &wrapped) != nil || wrapped.Data == nil) {
				return p.Caller.Fail(llm.BadRequest, 0, "reading the list of models", "it isn't one; base_url may be wrong")
			}
			return nil
		},
	})
	if llm.HasClass(err, noList) {
		return nil
	}
	return err
}

// noList marks a server's answer that it has no list of models. It never
// leaves this file.
const noList llm.Class = "no_list"

// modelsURL is where the list is, "" where there is none.
func modelsURL(endpoint string) string {
	if strings.Contains(endpoint, "/deployments/") {
		return ""
	}
	return strings.Replace(endpoint, "/chat/completions", "/models", 1)
}
