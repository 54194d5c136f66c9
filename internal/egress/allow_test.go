package egress

import (
	"net/url"
	"strings"
	"testing"
)

func TestNew_RefusesEntriesThatAreNoHosts(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{
		"", "https://shop.example.com", "shop.example.com/menu", "user@shop.example.com", "shop example.com",
		"shop.example.com:0", "shop.example.com:65536", "shop.example.com:http", "shop.example.com:", "*", "*.", "*.*.example.com",
		"a..b", ".example.com", "2130706433", "0x7f.1", "127.1", "0177.0.0.1", "1.2.3.4.5", "fe80::1%eth0", "::1:70000x", "tienda.españa.example",
		strings.Repeat("a", 64) + ".example.com",
	} {
		t.Run(entry, func(t *testing.T) {
			t.Parallel()
			if _, err := New([]string{"ok.example.com", entry}, Options{}); err == nil {
				t.Fatalf("New took %q", entry)
			} else if entry != "" && !strings.Contains(err.Error(), entry) {
				t.Errorf("the error doesn't name the entry: %v", err)
			}
		})
	}
}

func TestCheckURL_E6_AllowList(t *testing.T) {
	t.Parallel()
	g, err := New([]string{
		"shop.example.com", "api.example.com:8443", "*.cdn.example.com", "*.alt.example.com:444", "Upper.Example.COM.",
		"93.184.215.14", "10.0.0.5:8081", "[::1]:9000", "localhost:7000", "2606:2800:21f:cb07::1", "169.254.169.254:80", "192.168.1.9",
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for raw, want := range map[string]bool{
		"https://shop.example.com/menu":               true,
		"http://shop.example.com:8080/":               true,
		"https://SHOP.example.com./":                  true,
		"https://upper.example.com/":                  true,
		"https://api.example.com:8443/":               true,
		"https://x.cdn.example.com/":                  true,
		"https://a.b.cdn.example.com/":                true,
		"https://x.alt.example.com:444/":              true,
		"https://93.184.215.14/":                      true,
		"http://[2606:2800:21f:cb07::1]/":             true,
		"http://[2606:2800:21f:cb07:0:0:0:1]:81/":     true,
		"http://10.0.0.5:8081/":                       true,
		"http://[::ffff:10.0.0.5]:8081/":              true,
		"http://[::1]:9000/":                          true,
		"http://localhost:7000/":                      true,
		"http://169.254.169.254/latest":               true,
		"https://api.example.com/":                    false, // another port
		"https://cdn.example.com/":                    false, // the wildcard is for names below
		"https://evilcdn.example.com/":                false,
		"https://x.alt.example.com/":                  false,
		"https://shop.example.com.evil.example/":      false,
		"https://evil.example/shop.example.com":       false,
		"https://shop.example.com@evil.example/":      false,
		"https://user:pw@shop.example.com/":           false,
		"https://evil.example#@shop.example.com/":     false,
		"ftp://shop.example.com/":                     false,
		"file:///etc/passwd":                          false,
		"gopher://shop.example.com/":                  false,
		"https:shop.example.com":                      false,
		"//shop.example.com/":                         false,
		"/menu":                                       false,
		"http://10.0.0.5/":                            false,
		"http://10.0.0.5:8082/":                       false,
		"http://192.168.1.9/":                         false, // listed, but private and without its port
		"http://[::1]/":                               false,
		"http://127.0.0.1:7000/":                      false, // localhost is listed, not its address
		"http://2130706433:7000/":                     false,
		"http://0x7f000001:7000/":                     false,
		"http://0177.0.0.1:7000/":                     false,
		"http://127.1:7000/":                          false,
		"http://[fe80::1%25eth0]:9000/":               false,
		"http://shop.example.com:0/":                  false,
		"http://shop.example.com:99999/":              false,
		"http://shop_example.com/":                    false,
		"http://ｓｈｏｐ.example.com/":                    false,
		"http://shop.example.com%2eevil.example:80/":  false,
		"http://169.254.169.254:8080/latest":          false,
		"http://[::ffff:169.254.169.254]:8080/latest": false,
	} {
		t.Run(raw, func(t *testing.T) {
			t.Parallel()
			u, err := url.Parse(raw)
			if err != nil {
				if want {
					t.Fatal(err)
				}
				return
			}
			err = g.CheckURL(u)
			if (err == nil) != want {
				t.Errorf("CheckURL: %v, want allowed %v", err, want)
			}
			if err != nil && ClassOf(err) != Refused {
				t.Errorf("class %s, want refused", ClassOf(err))
			}
		})
	}
}

func TestNew_E6_EmptyListLetsNothingOut(t *testing.T) {
	t.Parallel()
	g, err := New(nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = g.Do(t.Context(), Request{URL: "https://example.com/"})
	if ClassOf(err) != Refused {
		t.Errorf("Do: %v, want refused", err)
	}
}

// What the list lets through must be a host that it names, whatever is typed.
func FuzzCheckURL(f *testing.F) {
	for _, s := range []string{
		"https://shop.example.com/", "http://shop.example.com@evil/", "http://evil\\@shop.example.com/", "http://[::1]:80/",
		"http://shop.example.com:80:90/", "http://127.0.0.1%2f@shop.example.com", "https://x.cdn.example.com", "http://10.0.0.5:81",
	} {
		f.Add(s)
	}
	g, err := New([]string{"shop.example.com", "*.cdn.example.com", "10.0.0.5:81"}, Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := url.Parse(raw)
		if err != nil || g.CheckURL(u) != nil {
			return
		}
		h := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
		if h != "shop.example.com" && !strings.HasSuffix(h, ".cdn.example.com") && h != "10.0.0.5" && h != "::ffff:10.0.0.5" && h != "::ffff:a00:5" {
			t.Errorf("let %q out to %q", raw, h)
		}
	})
}
