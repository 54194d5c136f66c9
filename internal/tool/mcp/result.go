package mcptool

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-bot/parley/internal/secret"
	"github.com/parley-bot/parley/internal/tool"
)

// result makes what a server gave what a model is told: the structured content
// where there is one, else the text of all parts, JSON as JSON; what is no text
// in words. It holds no credential of the server's and is within the cap.
func result(res *mcp.CallToolResult, credentials secret.Masks) tool.Result {
	text := string(credentials.JSON([]byte(textOf(res.Content))))
	var value json.RawMessage
	switch structured := structuredOf(res, text); {
	case structured != nil:
		value = credentials.JSON(structured)
	case text == "":
	case isJSON(text):
		value = json.RawMessage(strings.TrimSpace(text))
	default:
		value = quote(text)
	}
	if res.IsError {
		if value == nil {
			value = quote("The tool failed and didn't say why.")
		}
		message := tool.Content(tool.Result{Value: value}, maxFailed)
		return tool.Fail("tool_failed", map[string]any{"message": message})
	}
	return tool.Capped(tool.Result{Value: value}, 0)
}

// maxFailed bounds the message of a failure, in bytes.
const maxFailed = 8 << 10

// structuredOf is the structured content as JSON; nil where there is none, or
// the text says it better: servers write the same value as text beside it, and
// numbers beyond 2^53 are exact only there.
func structuredOf(res *mcp.CallToolResult, text string) json.RawMessage {
	if res.StructuredContent == nil {
		return nil
	}
	if isJSON(text) {
		var same any
		if json.Unmarshal([]byte(text), &same) == nil && reflect.DeepEqual(same, plain(res.StructuredContent)) {
			return json.RawMessage(strings.TrimSpace(text))
		}
	}
	if text != "" && inexact(plain(res.StructuredContent)) {
		return nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(res.StructuredContent) != nil {
		return nil
	}
	return bytes.TrimSpace(b.Bytes())
}

// plain is v as encoding/json decodes it.
func plain(v any) any {
	b, err := json.Marshal(v)
	if err != nil {
		return v
	}
	var out any
	if json.Unmarshal(b, &out) != nil {
		return v
	}
	return out
}

// inexact tells whether a number in v may have lost digits.
func inexact(v any) bool {
	switch t := v.(type) {
	case float64:
		return math.Abs(t) >= 1<<53
	case []any:
		return slices.ContainsFunc(t, inexact)
	case map[string]any:
		for _, item := range t {
			if inexact(item) {
				return true
			}
		}
	}
	return false
}

func isJSON(text string) bool {
	t := strings.TrimSpace(text)
	return t != "" && (t[0] == '{' || t[0] == '[') && json.Valid([]byte(t))
}

// textOf joins the parts of a result.
func textOf(parts []mcp.Content) string {
	var out []string
	for _, p := range parts {
		var s string
		switch c := p.(type) {
		case *mcp.TextContent:
			s = c.Text
		case *mcp.ImageContent:
			s = inWords("image", c.MIMEType, int64(len(c.Data)))
		case *mcp.AudioContent:
			s = inWords("audio", c.MIMEType, int64(len(c.Data)))
		case *mcp.ResourceLink:
			s = inWords("resource "+oneLine(c.URI), c.MIMEType, size(c.Size))
		case *mcp.EmbeddedResource:
			s = resource(c.Resource)
		default:
			s = fmt.Sprintf("[a part of an unknown kind: %T]", p)
		}
		if s != "" {
			out = append(out, strings.ToValidUTF8(s, "\ufffd"))
		}
	}
	return strings.Join(out, "\n")
}

// resource is the text of one that is text, under what it is.
func resource(r *mcp.ResourceContents) string {
	switch {
	case r == nil:
		return ""
	case r.Text != "":
		return inWords("resource "+oneLine(r.URI), r.MIMEType, int64(len(r.Text))) + "\n" + r.Text
	default:
		return inWords("resource "+oneLine(r.URI), r.MIMEType, int64(len(r.Blob)))
	}
}

func size(n *int64) int64 {
	if n == nil {
		return -1
	}
	return *n
}

// inWords says what isn't shown: its kind, type and size.
func inWords(what, mediaType string, n int64) string {
	s := "[" + what + ", " + cmp.Or(oneLine(mediaType), "of an unknown type")
	if n >= 0 {
		s += fmt.Sprintf(", %d bytes", n)
	}
	return s + "]"
}

func quote(s string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return bytes.TrimSpace(b.Bytes())
}
