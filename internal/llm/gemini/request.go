package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parley-bot/parley/internal/llm"
)

// wireRequest is the body of a call.
type wireRequest struct {
	System   *content    `json:"systemInstruction,omitempty"`
	Contents []content   `json:"contents"`
	Tools    []wireTools `json:"tools,omitempty"`
	Limits   *limits     `json:"generationConfig,omitempty"`
}

type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

// part is one of text, call and response, with the signature it came with.
type part struct {
	Text      string        `json:"text,omitempty"`
	Call      *functionCall `json:"functionCall,omitempty"`
	Response  *functionDone `json:"functionResponse,omitempty"`
	Signature string        `json:"thoughtSignature,omitempty"`
}

type functionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type functionDone struct {
	ID       string          `json:"id,omitempty"`
	Name     string          `json:"name"`
	Response json.RawMessage `json:"response"`
}

type wireTools struct {
	Declarations []declaration `json:"functionDeclarations"`
}

type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	JSONSchema  json.RawMessage `json:"parametersJsonSchema,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

type limits struct {
	MaxOutputTokens int `json:"maxOutputTokens,omitempty"`
}

// opaque is what the API wants back with a message or a call.
type opaque struct {
	Signature string `json:"thought_signature"`
}

// skipSignature stands for the signature of a call that this API didn't make.
// Source: https://ai.google.dev/gemini-api/docs/thought-signatures
const skipSignature = "skip_thought_signature_validator"

// encode translates a request. Blank texts are left out, since the API refuses
// empty parts.
func (p *Provider) encode(req llm.Request, subset bool) ([]byte, error) {
	wire := wireRequest{}
	for _, text := range req.System {
		if strings.TrimSpace(text) == "" {
			continue
		}
		if wire.System == nil {
			wire.System = new(content)
		}
		wire.System.Parts = append(wire.System.Parts, part{Text: text})
	}
	if len(req.Tools) > 0 {
		wire.Tools = declare(req.Tools, subset)
	}
	if req.MaxTokens > 0 {
		wire.Limits = &limits{req.MaxTokens}
	}
	ids := 0
	messages := llm.JoinAdjacent(req.Messages)
	for i, m := range messages {
		switch m.Role {
		case llm.RoleUser:
			wire.add("user", textPart(m.Text, ""))
		case llm.RoleAssistant:
			var results []llm.Result
			if i+1 < len(messages) && messages[i+1].Role == llm.RoleTool {
				results = messages[i+1].Results
			}
			p.addAssistant(&wire, m, results, &ids)
		case llm.RoleTool: // went with the calls they answer
		}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(wire); err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	return buf.Bytes(), nil
}

func textPart(text, signature string) []part {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []part{{Text: text, Signature: signature}}
}

func (w *wireRequest) add(role string, parts []part) {
	if len(parts) > 0 {
		w.Contents = append(w.Contents, content{Role: role, Parts: parts})
	}
}

// addAssistant translates a model's message and the results of its calls, which
// the API wants in a content of their own, as many as the calls. Calls are
// numbered anew in each request.
func (p *Provider) addAssistant(wire *wireRequest, m llm.Message, results []llm.Result, ids *int) {
	said := textPart(m.Text, signatureOf(m.Opaque))
	var answers []part
	for k, r := range llm.ResultsFor(m.Calls, results) {
		c := m.Calls[k]
		*ids++
		id := fmt.Sprintf("call%05d", *ids)
		signature := signatureOf(c.Opaque)
		if signature == "" && k == 0 && p.needsSignature {
			// Of parallel calls only the first is signed.
			signature = skipSignature
		}
		said = append(said, part{Call: &functionCall{ID: id, Name: c.Name, Args: llm.ArgsObject(c.Args)}, Signature: signature})
		answers = append(answers, part{Response: &functionDone{ID: id, Name: c.Name, Response: responseOf(r)}})
	}
	wire.add("model", said)
	wire.add("user", answers)
}

func signatureOf(raw json.RawMessage) string {
	var o opaque
	// What doesn't decode was written by something else; without it the
	// request is still a good one.
	_ = json.Unmarshal(raw, &o)
	return o.Signature
}

// responseOf is a result as an object: the tool's own, or one made of it.
func responseOf(r llm.Result) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(r.Content), &object) == nil && object != nil {
		return json.RawMessage(r.Content)
	}
	value := json.RawMessage(r.Content)
	if !json.Valid(value) {
		value, _ = json.Marshal(r.Content) // strings always marshal
	}
	key := "output"
	if r.Failed {
		key = "error"
	}
	out, _ := json.Marshal(map[string]json.RawMessage{key: value}) // valid by now
	return out
}

func declare(tools []llm.Card, subset bool) []wireTools {
	out := make([]declaration, 0, len(tools))
	for _, c := range tools {
		d := declaration{Name: c.Name, Description: c.Description}
		if subset {
			d.Parameters = subsetOf(c.Schema)
		} else {
			d.JSONSchema = llm.ObjectSchema(c.Schema)
		}
		out = append(out, d)
	}
	return []wireTools{{out}}
}

// EncodeCards returns the cards as the API receives them.
func (p *Provider) EncodeCards(tools []llm.Card) (json.RawMessage, error) {
	body, err := json.Marshal(declare(tools, p.subset.Load()))
	if err != nil {
		return nil, fmt.Errorf("encoding the cards of %s: %w", name, err)
	}
	return body, nil
}
