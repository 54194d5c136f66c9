package webchat_test

import (
	"context"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/html"

	"github.com/parley-bot/parley/channels"
	"github.com/parley-bot/parley/channels/channeltest"
	"github.com/parley-bot/parley/channels/webchat"
)

func TestAuth_Tokens(t *testing.T) {
	t.Parallel()
	c := newChat(t, webchat.Config{})
	v := c.begin("en")
	for name, tc := range map[string]struct {
		header []string
		status int
	}{
		"right":               {[]string{"Authorization", "Bearer " + v.token}, 200},
		"scheme in lower":     {[]string{"Authorization", "bearer " + v.token}, 200},
		"none":                {nil, 401},
		"wrong":               {[]string{"Authorization", "Bearer " + strings.Repeat("A", 43)}, 401},
		"short":               {[]string{"Authorization", "Bearer x"}, 401},
		"session, not token":  {[]string{"Authorization", "Bearer " + v.session}, 401},
		"basic":               {[]string{"Authorization", "Basic " + v.token}, 401},
		"cookie":              {[]string{"Cookie", "parley_chat=" + v.token}, 200},
		"wrong cookie":        {[]string{"Cookie", "parley_chat=" + strings.Repeat("A", 43)}, 401},
		"the header is meant": {[]string{"Cookie", "parley_chat=" + v.token, "Authorization", "Bearer x"}, 401},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, h, body := c.do("GET", "/chat/api/messages", "", tc.header...)
			if status != tc.status || (status == 401) != (h.Get("WWW-Authenticate") != "") {
				t.Errorf("%d %s, want %d", status, body, tc.status)
			}
		})
	}
}

func TestAuth_CookieCountsForOwnPageOnly(t *testing.T) {
	t.Parallel()
	c := newChat(t, webchat.Config{Origins: []string{"https://shop.example.com"}})
	v := c.begin("en")
	own := c.url
	for name, tc := range map[string]struct {
		method string
		header []string
		status int
	}{
		"own page":             {"POST", []string{"Sec-Fetch-Site", "same-origin", "Content-Type", "application/json"}, 202},
		"own page, old":        {"POST", []string{"Origin", own, "Content-Type", "application/json; charset=utf-8"}, 202},
		"no browser":           {"POST", []string{"Content-Type", "application/json"}, 202},
		"other site":           {"POST", []string{"Sec-Fetch-Site", "cross-site", "Content-Type", "application/json"}, 403},
		"sibling":              {"POST", []string{"Sec-Fetch-Site", "same-site", "Content-Type", "application/json"}, 403},
		"other origin, old":    {"POST", []string{"Origin", "https://evil.example.com", "Content-Type", "application/json"}, 403},
		"opaque origin":        {"POST", []string{"Origin", "null", "Content-Type", "application/json"}, 403},
		"listed, still cookie": {"POST", []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://shop.example.com", "Content-Type", "application/json"}, 403},
		"a form":               {"POST", []string{"Sec-Fetch-Site", "same-origin", "Content-Type", "text/plain"}, 415},
		"reading elsewhere":    {"GET", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		"reading here":         {"GET", []string{"Sec-Fetch-Site", "same-origin"}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, _, body := c.do(tc.method, "/chat/api/messages", `{"text":"x"}`, append(tc.header, "Cookie", "parley_chat="+v.token)...)
			if status != tc.status {
				t.Errorf("%d %s, want %d", status, body, tc.status)
			}
		})
	}
}

func TestSession_Cookie(t *testing.T) {
	t.Parallel()
	c := newChat(t, webchat.Config{Secure: true})
	ask := func(header ...string) (int, string) {
		status, h, _ := c.do("POST", "/chat/api/sessions", `{"cookie":true}`, append(header, "Content-Type", "application/json")...)
		return status, h.Get("Set-Cookie")
	}
	status, cookie := ask("Sec-Fetch-Site", "same-origin")
	for _, part := range []string{"parley_chat=", "HttpOnly", "SameSite=Lax", "Secure", "Path=/chat/"} {
		if status != 201 || !strings.Contains(cookie, part) {
			t.Errorf("%d, cookie %q lacks %q", status, cookie, part)
		}
	}
	if status, cookie := ask("Sec-Fetch-Site", "cross-site"); status != 403 || cookie != "" {
		t.Errorf("another site gave a visitor a session: %d %q", status, cookie)
	}
	if _, h, _ := c.do("POST", "/chat/api/sessions", ""); h.Get("Set-Cookie") != "" {
		t.Error("a cookie that nobody asked for")
	}
}

func TestCORS(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		origins []string
		origin  string
		allowed bool
	}{
		"listed":       {[]string{"https://shop.example.com/"}, "https://shop.example.com", true},
		"default port": {[]string{"https://Shop.example.com:443"}, "https://shop.example.com", true},
		"all":          {[]string{"*"}, "https://any.example.com", true},
		"not listed":   {[]string{"https://shop.example.com"}, "https://evil.example.com", false},
		"prefix":       {[]string{"https://shop.example.com"}, "https://shop.example.com.evil.com", false},
		"other scheme": {[]string{"https://shop.example.com"}, "http://shop.example.com", false},
		"none":         {nil, "https://shop.example.com", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChat(t, webchat.Config{Origins: tc.origins})
			v := c.begin("en")
			status, h, _ := c.do("OPTIONS", "/chat/api/messages", "", "Origin", tc.origin, "Access-Control-Request-Method", "POST")
			if (status == 204) != tc.allowed || (h.Get("Access-Control-Allow-Origin") == tc.origin) != tc.allowed {
				t.Errorf("preflight: %d %v", status, h)
			}
			_, h, _ = c.do("GET", "/chat/api/messages", "", "Origin", tc.origin, "Authorization", "Bearer "+v.token)
			if (h.Get("Access-Control-Allow-Origin") == tc.origin) != tc.allowed || h.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("answer: %v", h)
			}
			if !slices.Contains(h.Values("Vary"), "Origin") {
				t.Error("caches aren't told that the answer varies")
			}
		})
	}
}

func TestConfig_Errors(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]webchat.Config{
		"origins[1]": {Origins: []string{"https://a.example.com", "a.example.com"}},
		"origins[0]": {Origins: []string{"https://a.example.com/path"}},
		"https://":   {Origins: []string{"https://a; script-src *"}},
		"lang":       {Lang: "english please"},
		"prefix":     {Prefix: "chat"},
	} {
		_, err := webchat.New(cfg, webchat.Deps{Host: channeltest.NewHost()})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New(%+v) = %v, want it to name %s", cfg, err, want)
		}
	}
	if _, err := webchat.New(webchat.Config{}, webchat.Deps{}); err == nil {
		t.Error("New without a host succeeded")
	}
}

func TestSessions_BoundedPerAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, err := webchat.New(webchat.Config{SessionsPerMinute: 6}, webchat.Deps{Host: channeltest.NewHost()})
		if err != nil {
			t.Fatal(err)
		}
		_, h := a.Pages(sinkFunc(func(context.Context, channels.Inbound) error { return nil }))
		begin := func(addr string) *httptest.ResponseRecorder {
			r := httptest.NewRequest("POST", "/chat/api/sessions", nil)
			r.RemoteAddr = addr
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w
		}
		for i := range 6 {
			if w := begin("192.0.2.1:" + strconv.Itoa(1000+i)); w.Code != 201 {
				t.Fatalf("session %d: %d", i+1, w.Code)
			}
		}
		w := begin("192.0.2.1:9")
		if w.Code != 429 || w.Header().Get("Retry-After") != "10" {
			t.Errorf("over the limit: %d, Retry-After %q; want 429 and 10", w.Code, w.Header().Get("Retry-After"))
		}
		for range 6 {
			begin("[2001:db8::1]:1")
		}
		if w := begin("[2001:db8::2]:1"); w.Code != 429 {
			t.Errorf("another address of one /64: %d, want 429", w.Code)
		}
		if w := begin("[2001:db8:0:1::1]:1"); w.Code != 201 {
			t.Errorf("another network: %d", w.Code)
		}
		for i := range 100 {
			if w := begin("127.0.0.1:1"); w.Code != 201 {
				t.Fatalf("loopback, session %d: %d", i+1, w.Code)
			}
		}
		<-time.After(10 * time.Second) // the bubble's clock
		if w := begin("192.0.2.1:9"); w.Code != 201 {
			t.Errorf("after the wait: %d", w.Code)
		}
	})
}

func TestPage_HeadersAndFiles(t *testing.T) {
	t.Parallel()
	c := newChat(t, webchat.Config{Title: `La "Espiga" <b>`, Origins: []string{"https://shop.example.com"}, Lang: "es"})
	for path, kind := range map[string]string{
		"": "text/html", "app.js": "text/javascript", "api.js": "text/javascript", "style.css": "text/css", "widget.js": "text/javascript",
	} {
		status, h, body := c.do("GET", "/chat/"+path, "")
		if status != 200 || !strings.HasPrefix(h.Get("Content-Type"), kind) || body == "" {
			t.Errorf("%s: %d %s", path, status, h.Get("Content-Type"))
		}
		csp := h.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "form-action 'none'", "frame-ancestors 'self' https://shop.example.com"} {
			if !strings.Contains(csp, part) {
				t.Errorf("%s: policy %q lacks %q", path, csp, part)
			}
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: headers %v", path, h)
		}
		if status, _, _ := c.do("GET", "/chat/"+path, "", "If-None-Match", h.Get("ETag")); status != http.StatusNotModified {
			t.Errorf("%s again: %d, want 304", path, status)
		}
		if status, _, body := c.do("HEAD", "/chat/"+path, ""); status != 200 || body != "" {
			t.Errorf("HEAD %s: %d %q", path, status, body)
		}
	}
	_, _, body := c.do("GET", "/chat/", "")
	if !strings.Contains(body, "La &#34;Espiga&#34; &lt;b&gt;") || !strings.Contains(body, `<html lang="es" data-lang="es"`) {
		t.Errorf("the title or the language isn't there:\n%.500s", body)
	}
	for _, path := range []string{"index.html", "../adapter.go", "nothing", "web/app.js"} {
		if status, _, _ := c.do("GET", "/chat/"+path, ""); status == 200 {
			t.Errorf("%s is served", path)
		}
	}
	if status, h, _ := c.do("POST", "/chat/", ""); status != 405 || h.Get("Allow") == "" {
		t.Errorf("POST of the page: %d, Allow %q", status, h.Get("Allow"))
	}
}

// Whatever the title is, it is the text of the page's title and of its heading
// and nothing else, and no place is left unfilled.
func TestPage_HostileTitles(t *testing.T) {
	t.Parallel()
	for _, title := range []string{
		`</title></h1><script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `&lt;script&gt;`,
		`<!--`, `]]>`, "\u2028</title\t>", "<\x00script>", `{{lang}}{{title}}{{.Title}}`, `$1 %s \\1`, `</TITLE/x>`,
	} {
		c := newChat(t, webchat.Config{Title: title, Lang: "es-MX"})
		status, _, body := c.do("GET", "/chat/", "")
		doc, err := html.Parse(strings.NewReader(body))
		if status != 200 || err != nil {
			t.Fatalf("%q: %d, %v", title, status, err)
		}
		// A parser puts U+FFFD for NUL, or leaves it out.
		want := strings.ReplaceAll(title, "\x00", "")
		texts, elements := map[string]string{}, map[string]int{}
		for n := range doc.Descendants() {
			switch n.Type {
			case html.TextNode:
				texts[n.Parent.Data] += strings.NewReplacer("\x00", "", "\ufffd", "").Replace(n.Data)
			case html.ElementNode:
				elements[n.Data]++
				for _, a := range n.Attr {
					if strings.Contains(a.Val, "{{") || strings.Contains(a.Val, "alert(1") || strings.HasPrefix(a.Key, "on") {
						t.Errorf("%q: %s has %s=%q", title, n.Data, a.Key, a.Val)
					}
				}
			case html.CommentNode:
				t.Errorf("%q: a comment %q", title, n.Data)
			default:
			}
		}
		if texts["title"] != want || texts["h1"] != want {
			t.Errorf("%q: the title is %q, the heading %q", title, texts["title"], texts["h1"])
		}
		if elements["script"] != 1 || elements["img"] != 0 || elements["h1"] != 1 || elements["title"] != 1 {
			t.Errorf("%q: elements %v", title, elements)
		}
		if !strings.Contains(body, `<html lang="es-MX" data-lang="es-MX" data-max-text="16384">`) {
			t.Errorf("%q: the settings aren't there:\n%.200s", title, body)
		}
	}
	c := newChat(t, webchat.Config{MaxText: 1000})
	if _, _, body := c.do("GET", "/chat/", ""); !strings.Contains(body, `<html lang="en" data-lang="" data-max-text="1000">`) || strings.Contains(body, "{{") {
		t.Errorf("the defaults aren't there:\n%.200s", body)
	}
}

// The page asks no other host for anything, and has nothing inline that its
// own policy would refuse.
func TestPage_IsSelfContained(t *testing.T) {
	t.Parallel()
	address := regexp.MustCompile(`https?://[a-z0-9.-]+`)
	inline := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|<script(?:\s[^>]*)?>[^<]|innerHTML|insertAdjacentHTML|document\.write|eval\(`)
	dir := os.DirFS("web")
	names, err := fs.Glob(dir, "*")
	if err != nil || len(names) < 5 {
		t.Fatalf("files %q, %v", names, err)
	}
	for _, name := range names {
		body, err := fs.ReadFile(dir, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range address.FindAllString(string(body), -1) {
			// An XML namespace, and the widget's example in its comment.
			if a != "http://www.w3.org" && a != "https://bot.example.com" {
				t.Errorf("%s names %s", name, a)
			}
		}
		if found := inline.FindString(string(body)); found != "" {
			t.Errorf("%s has %q", name, found)
		}
	}
}
