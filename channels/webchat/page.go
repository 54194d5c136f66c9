package webchat

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

//go:embed web
var web embed.FS

// page serves the files of the page. They are small and revalidated, so an
// upgrade shows at once.
type page struct {
	prefix string
	files  map[string]file
}

type file struct {
	body []byte
	kind string
	etag string
}

func newPage(cfg Config) (*page, error) {
	p := &page{prefix: cfg.Prefix, files: map[string]file{}}
	entries, err := fs.ReadDir(web, "web")
	if err != nil {
		return nil, fmt.Errorf("listing the files: %w", err)
	}
	for _, e := range entries {
		body, err := fs.ReadFile(web, "web/"+e.Name())
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", e.Name(), err)
		}
		name := e.Name()
		if name == "index.html" {
			body, name = fill(body, cfg), ""
		}
		sum := sha256.Sum256(body)
		p.files[name] = file{body, kindOf(e.Name()), `"` + hex.EncodeToString(sum[:12]) + `"`}
	}
	return p, nil
}

// fill puts the settings in their places, each of them text of an element or
// of an attribute in double quotes. It is not html/template, which calls
// methods by name, so that the linker has to keep every exported method of the
// program: 5 MB.
func fill(source []byte, cfg Config) []byte {
	return []byte(strings.NewReplacer(
		"{{lang-or-en}}", html.EscapeString(cmp.Or(cfg.Lang, "en")),
		"{{lang}}", html.EscapeString(cfg.Lang),
		"{{max-text}}", strconv.Itoa(cfg.MaxText),
		"{{title}}", html.EscapeString(cfg.Title),
	).Replace(string(source)))
}

// kindOf doesn't leave the common types to the machine's own table.
func kindOf(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	}
	return mime.TypeByExtension(path.Ext(name))
}

func (p *page) serve(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, p.prefix)
	f, ok := p.files[name]
	if !ok {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.etag)
	if name == "widget.js" { // loaded by the sites that embed the chat
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.body))
}
