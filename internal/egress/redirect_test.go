package egress

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func TestDo_E6_RedirectsOnlyToListedHosts(t *testing.T) {
	t.Parallel()
	_, inner, innerHits := server(t, hello)
	dns := newDNS(map[string][]netip.Addr{"rebind.example.com": {netip.MustParseAddr("127.0.0.1")}})
	for name, tc := range map[string]struct {
		method, to string
		status     int
		want       Class
	}{
		"another port":                   {"GET", "http://" + inner + "/", 302, Refused},
		"metadata":                       {"GET", "http://169.254.169.254/latest/meta-data/", 302, Refused},
		"decimal":                        {"GET", "http://2130706433:" + portOfHost(t, inner) + "/", 302, Refused},
		"another scheme":                 {"GET", "file:///etc/passwd", 302, Refused},
		"credentials":                    {"GET", "http://u:p@127.0.0.1/", 302, Refused},
		"a listed name, private address": {"GET", "http://rebind.example.com:" + portOfHost(t, inner) + "/", 302, Refused},
		"a POST that may be done":        {"POST", "http://" + inner + "/", 303, Unknown},
		"a POST that isn't done":         {"POST", "http://" + inner + "/", 307, Refused},
		"a POST, then rebinding":         {"POST", "http://rebind.example.com:" + portOfHost(t, inner) + "/", 303, Unknown},
		"a POST not done, then rebound":  {"POST", "http://rebind.example.com:" + portOfHost(t, inner) + "/", 308, Refused},
		"a POST, then nobody there":      {"POST", "http://127.0.0.1:1/", 302, Unknown},
		"a POST not done, nobody there":  {"POST", "http://127.0.0.1:1/", 307, NotSent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, outer, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", tc.to)
				w.WriteHeader(tc.status)
			})
			g := newGuard(t, Options{Resolver: dns.resolver(t)}, outer, "rebind.example.com", "127.0.0.1:1")
			_, err := g.Do(t.Context(), Request{Method: tc.method, URL: "http://" + outer + "/", Body: []byte("{}")})
			if err == nil || ClassOf(err) != tc.want {
				t.Errorf("%v, want %s", err, tc.want)
			}
		})
	}
	t.Cleanup(func() {
		if n := innerHits.Load(); n != 0 {
			t.Errorf("%d requests reached the inner server", n)
		}
	})
}

func TestDo_E6_RedirectCarriesNoCredentialsToAnotherHost(t *testing.T) {
	t.Parallel()
	seen := make(chan http.Header, 4)
	keep := func(w http.ResponseWriter, r *http.Request) { seen <- r.Header.Clone(); hello(w, r) }
	other, otherHost, _ := server(t, keep)
	var same *httptest.Server
	same, sameHost, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/out":
			http.Redirect(w, r, other.URL+"/?x=1", http.StatusFound)
		case "/in":
			http.Redirect(w, r, "/here", http.StatusFound)
		default:
			keep(w, r)
		}
	})
	g := newGuard(t, Options{}, sameHost, otherHost)
	h := http.Header{"Authorization": {"Bearer canary"}, "X-Api-Key": {"canary"}, "Cookie": {"a=canary"}, "Accept": {"application/json"}}
	for path, want := range map[string]bool{"/in": true, "/out": false} {
		if _, err := g.Do(t.Context(), Request{URL: same.URL + path + "?q=canary", Header: h}); err != nil {
			t.Fatal(err)
		}
		got := <-seen
		var all strings.Builder
		_ = got.Write(&all)
		if strings.Contains(all.String(), "canary") != want {
			t.Errorf("%s: headers after the redirect: %v", path, got)
		}
		if got.Get("Accept") != "application/json" || got.Get("Referer") != "" {
			t.Errorf("%s: headers after the redirect: %v", path, got)
		}
	}
}

func TestDo_RedirectsAreBoundedAndBodiesFollow307(t *testing.T) {
	t.Parallel()
	_, host, hits := server(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/moved":
			http.Redirect(w, r, "/echo", http.StatusTemporaryRedirect)
		case "/done":
			http.Redirect(w, r, "/echo", http.StatusSeeOther)
		default:
			b, _ := io.ReadAll(r.Body)
			_, _ = io.WriteString(w, r.Method+" "+string(b))
		}
	})
	g := newGuard(t, Options{MaxRedirects: 3}, host)
	if _, err := g.Do(t.Context(), Request{URL: "http://" + host + "/loop"}); ClassOf(err) != Refused {
		t.Errorf("a loop: %v, want refused", err)
	}
	if n := hits.Load(); n != 4 {
		t.Errorf("a loop made %d requests, want 4", n)
	}
	resp, err := g.Do(t.Context(), Request{Method: "POST", URL: "http://" + host + "/moved", Body: []byte("order")})
	if err != nil || string(resp.Body) != "POST order" || resp.SeeOther {
		t.Errorf("307: %v %q %v", err, resp.Body, resp.SeeOther)
	}
	resp, err = g.Do(t.Context(), Request{Method: "POST", URL: "http://" + host + "/done", Body: []byte("order")})
	if err != nil || string(resp.Body) != "GET " || !resp.SeeOther || resp.URL != "http://"+host+"/echo" {
		t.Errorf("303: %v %q %v", err, resp.Body, resp.SeeOther)
	}
	none := newGuard(t, Options{MaxRedirects: -1}, host)
	if _, err := none.Do(t.Context(), Request{URL: "http://" + host + "/moved"}); ClassOf(err) != Refused {
		t.Errorf("redirects off: %v, want refused", err)
	}
}

func TestDo_E6_NoRedirectFromTLSToPlain(t *testing.T) {
	t.Parallel()
	_, plain, hits := server(t, hello)
	s := httptest.NewTLSServer(http.RedirectHandler("http://"+plain+"/", http.StatusFound))
	t.Cleanup(s.Close)
	tls := s.Client().Transport.(*http.Transport).TLSClientConfig
	g := newGuard(t, Options{TLS: tls}, plain, strings.TrimPrefix(s.URL, "https://"))
	if _, err := g.Do(t.Context(), Request{URL: s.URL}); ClassOf(err) != Refused {
		t.Errorf("%v, want refused", err)
	}
	strict := newGuard(t, Options{}, strings.TrimPrefix(s.URL, "https://"))
	if _, err := strict.Do(t.Context(), Request{Method: "POST", URL: s.URL}); ClassOf(err) != NotSent {
		t.Errorf("an unknown certificate: %v, want not_sent", err)
	}
	if hits.Load() != 0 {
		t.Error("the plain server was reached")
	}
}
