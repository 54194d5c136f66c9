package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// probed is a daemon's HTTP side, with an answer for each path.
func probed(t *testing.T, answers map[string]int) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code, ok := answers[r.URL.Path]
		if !ok {
			code = http.StatusNotFound
		}
		if code == http.StatusFound {
			w.Header().Set("Location", "/healthz")
		}
		w.WriteHeader(code)
		_, _ = w.Write([]byte(`{"status": "` + strings.Trim(r.URL.Path, "/") + `"}`))
	}))
	t.Cleanup(srv.Close)
	return srv
}

func TestHealth_ExitCodeTellsTheAnswer(t *testing.T) {
	t.Parallel()
	well := map[string]int{"/healthz": 200, "/readyz": 200}
	for name, tc := range map[string]struct {
		answers map[string]int
		path    string
		args    []string
		code    int
		says    string
	}{
		"lives":               {answers: well, code: 0, says: `{"status": "healthz"}`},
		"a slash is no path":  {answers: well, path: "/", code: 0, says: `{"status": "healthz"}`},
		"ready":               {answers: well, args: []string{"--ready"}, code: 0, says: `{"status": "readyz"}`},
		"not ready":           {answers: map[string]int{"/healthz": 200, "/readyz": 503}, args: []string{"--ready"}, code: 1, says: `503 Service Unavailable: {"status": "readyz"}`},
		"lives, not ready":    {answers: map[string]int{"/healthz": 200, "/readyz": 503}, code: 0, says: "healthz"},
		"another program":     {answers: map[string]int{}, code: 1, says: "404 Not Found"},
		"a redirect":          {answers: map[string]int{"/healthz": 302}, code: 1, says: "302 Found"},
		"a path of its own":   {answers: map[string]int{"/bot/healthz": 200}, path: "/bot/healthz", code: 0, says: "bot/healthz"},
		"no time":             {answers: well, args: []string{"--timeout", "0s"}, code: 2, says: "--timeout"},
		"an argument":         {answers: well, args: []string{"now"}, code: 2, says: "unknown command"},
		"not even a duration": {answers: well, args: []string{"--timeout", "soon"}, code: 2, says: "--timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := probed(t, tc.answers)
			code, out, errOut := runInit(t, append([]string{"health", "--url", srv.URL + tc.path}, tc.args...)...)
			if code != tc.code || !strings.Contains(out+errOut, tc.says) {
				t.Errorf("exit %d, want %d; said %q and %q, want %q", code, tc.code, out, errOut, tc.says)
			}
		})
	}
}

func TestHealth_WrongURLIsAMistakeOfTheCallers(t *testing.T) {
	t.Parallel()
	for _, u := range []string{"127.0.0.1:8080", "ftp://127.0.0.1/", "http://", "http://[::1", "http://user:canary-pass@/", "http://user:canary-pass@[::1"} {
		code, _, errOut := runInit(t, "health", "--url", u)
		if code != exitUsage {
			t.Errorf("%s: exit %d, said %q", u, code, errOut)
		}
		if strings.Contains(errOut, "canary-pass") {
			t.Errorf("%s: the password is in %q", u, errOut)
		}
	}
}

func TestHealth_NobodyListens(t *testing.T) {
	t.Parallel()
	srv := probed(t, nil)
	srv.Close()
	code, _, errOut := runInit(t, "health", "--url", srv.URL)
	if code != exitFailure || !strings.Contains(errOut, "refused") {
		t.Errorf("exit %d, said %q", code, errOut)
	}
}

func TestHealth_DaemonThatHangs(t *testing.T) {
	t.Parallel()
	// Connections are taken by the system and answered by nobody.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	code, _, errOut := runInit(t, "health", "--url", "http://"+l.Addr().String(), "--timeout", "50ms")
	if code != exitFailure || !strings.Contains(errOut, "deadline exceeded") {
		t.Errorf("exit %d, said %q", code, errOut)
	}
}

// Where to ask, without --url. The environment of a process is one, so that
// the cases run one after another.
func TestHealth_AsksWhereTheDaemonListens(t *testing.T) {
	srv := probed(t, map[string]int{"/healthz": 200})
	addr := strings.TrimPrefix(srv.URL, "http://")
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	file := func(listen string) string {
		path := filepath.Join(t.TempDir(), "parley.yaml")
		text := "server: {listen: '" + listen + "'}\nmodel: {provider: openai, name: m, api_key: '${HEALTH_TEST_UNSET}'}\nchannels: {web: {kind: webchat}}\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, tc := range map[string]struct {
		env    map[string]string
		listen string
		code   int
	}{
		"file":                         {listen: addr, env: map[string]string{"HEALTH_TEST_UNSET": "x"}, code: 0},
		"every address":                {listen: ":" + port, env: map[string]string{"HEALTH_TEST_UNSET": "x"}, code: 0},
		"every IPv4 address":           {listen: "0.0.0.0:" + port, env: map[string]string{"HEALTH_TEST_UNSET": "x"}, code: 0},
		"variable over file":           {listen: "127.0.0.1:1", env: map[string]string{"PARLEY_SERVER_LISTEN": addr}, code: 0},
		"variable, no secret set":      {listen: addr, env: map[string]string{"PARLEY_SERVER_LISTEN": ":" + port}, code: 0},
		"a variable that is no listen": {listen: addr, env: map[string]string{"PARLEY_SERVER_LISTEN": port}, code: 2},
		"a file that isn't valid":      {listen: addr, code: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PARLEY_SERVER_LISTEN", "")
			for k, v := range tc.env {
				t.Setenv(k, v)
			}
			code, out, errOut := runInit(t, "health", "-c", file(tc.listen))
			if code != tc.code {
				t.Errorf("exit %d, want %d; said %q and %q", code, tc.code, out, errOut)
			}
		})
	}
}
