//go:build linux

package deploy

import (
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-bot/parley/internal/config"
)

// instruction is a line of a Dockerfile, continued lines joined.
type instruction struct{ word, args string }

// stages are the instructions of each stage; what stands before the first FROM
// isn't allowed here.
func stages(t *testing.T) [][]instruction {
	t.Helper()
	var out [][]instruction
	joined := ""
	for line := range strings.Lines(read(t, "Dockerfile")) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if rest, ok := strings.CutSuffix(line, `\`); ok {
			joined += rest
			continue
		}
		word, args, _ := strings.Cut(joined+line, " ")
		joined = ""
		if word == "FROM" {
			out = append(out, nil)
		}
		if len(out) == 0 {
			t.Fatalf("%s before the first FROM", word)
		}
		out[len(out)-1] = append(out[len(out)-1], instruction{word, strings.TrimSpace(args)})
	}
	if joined != "" {
		t.Fatalf("the last line goes on: %q", joined)
	}
	return out
}

// args are those of all instructions with this word.
func args(stage []instruction, word string) (out []string) {
	for _, i := range stage {
		if i.word == word {
			out = append(out, i.args)
		}
	}
	return out
}

func TestDockerfile_Stages(t *testing.T) {
	t.Parallel()
	all := stages(t)
	if len(all) != 2 {
		t.Fatalf("%d stages", len(all))
	}
	builder, image := all[0], all[1]
	gomod := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))
	if from := args(builder, "FROM")[0]; !strings.HasSuffix(from, " golang:"+gomod[1]+" AS build") {
		t.Errorf("built from %s, go.mod wants %s", from, gomod[1])
	}
	if run := strings.Join(args(builder, "RUN"), "\n"); !strings.Contains(run, "CGO_ENABLED=0") || !strings.Contains(run, "-trimpath") {
		t.Errorf("built by %s", run)
	}
	for word, want := range map[string][]string{
		"FROM": {"scratch"}, "USER": {"65532:65532"}, "VOLUME": {"/data"}, "EXPOSE": {"8080"}, "WORKDIR": {"/"},
		"ENTRYPOINT": {`["/parley"]`}, "CMD": {`["serve", "-c", "/etc/parley/parley.yaml"]`}, "RUN": nil, "ADD": nil,
	} {
		if got := args(image, word); !slices.Equal(got, want) {
			t.Errorf("%s %q, want %q", word, got, want)
		}
	}
	for _, copied := range args(image, "COPY") {
		if !strings.HasPrefix(copied, "--from=build ") {
			t.Errorf("COPY %s: from outside of the builder", copied)
		}
	}
	// Exec form: there is no shell.
	health := args(image, "HEALTHCHECK")
	_, cmd, ok := strings.Cut(strings.Join(health, ""), " CMD ")
	var words []string
	if err := json.Unmarshal([]byte(cmd), &words); !ok || err != nil || !slices.Equal(words, []string{"/parley", "health"}) {
		t.Errorf("HEALTHCHECK %v", health)
	}
	if env := strings.Join(args(image, "ENV"), " "); !strings.Contains(env, "PARLEY_SERVER_LISTEN=:8080") || !strings.Contains(env, "ZONEINFO=/usr/share/zoneinfo.zip") {
		t.Errorf("ENV %s", env)
	}
}

// ignored tells whether .dockerignore leaves a file out, by the two forms of
// pattern that it has: **/NAME, and NAME in the first folder.
func ignored(patterns []string, file string) bool {
	parts := strings.Split(file, "/")
	return slices.ContainsFunc(patterns, func(p string) bool {
		name, anywhere := strings.CutPrefix(p, "**/")
		for i, part := range parts {
			if ok, _ := path.Match(name, part); ok && (anywhere || i == 0) {
				return true
			}
		}
		return false
	})
}

// The build needs every file that the program is made of.
func TestDockerignore_LeavesWhatTheBuildNeeds(t *testing.T) {
	t.Parallel()
	var patterns []string
	for line := range strings.Lines(read(t, ".dockerignore")) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			patterns = append(patterns, line)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f",
		`{{$d := .Dir}}{{if and .Module .Module.Main}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{range .EmbedFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{end}}`, "./cmd/parley")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	base, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	files := append(strings.Fields(string(out)), base+"/go.mod", base+"/go.sum", base+"/LICENSE", base+"/NOTICE")
	if len(files) < 100 {
		t.Fatalf("%d files", len(files))
	}
	for _, file := range files {
		if rel := strings.TrimPrefix(file, base+"/"); ignored(patterns, rel) {
			t.Errorf("%s is needed and left out", rel)
		}
	}
	for _, file := range []string{".git/config", "bin/parley", "data/parley.db", "deploy/.env", "e2e/node_modules/x", "mybot/.env", "a/b/parley.db-wal", "prod.env"} {
		if !ignored(patterns, file) {
			t.Errorf("%s gets into the build", file)
		}
	}
}

type composeFile struct {
	Name     string
	Services map[string]service
	Networks map[string]any
	Volumes  map[string]any
}

type service struct {
	Build *struct {
		Context string
		Args    map[string]string
	}
	Image           string
	Command         []string
	Restart         string
	DependsOn       []string      `yaml:"depends_on"`
	StopGracePeriod time.Duration `yaml:"stop_grace_period"`
	Environment     map[string]string
	EnvFile         []struct {
		Path     string
		Required bool
	} `yaml:"env_file"`
	Ports       []string
	Expose      []string
	Volumes     []string
	Networks    []string
	ReadOnly    bool `yaml:"read_only"`
	Tmpfs       []string
	CapDrop     []string `yaml:"cap_drop"`
	SecurityOpt []string `yaml:"security_opt"`
	PidsLimit   int      `yaml:"pids_limit"`
	Logging     any
}

// defaults puts in what Compose does where no variable is set. One that has to
// be set stays.
func defaults(text string) string {
	return regexp.MustCompile(`\$\{\w+:-([^}]*)\}`).ReplaceAllString(text, "$1")
}

func compose(t *testing.T) composeFile {
	t.Helper()
	var c composeFile
	decode(t, defaults(read(t, "deploy", "compose.yaml")), &c)
	return c
}

func TestCompose_ServicesAreClosed(t *testing.T) {
	t.Parallel()
	c := compose(t)
	for _, name := range []string{"parley", "prometheus", "grafana"} {
		if _, ok := c.Services[name]; !ok {
			t.Errorf("no service %s", name)
		}
	}
	for name, s := range c.Services {
		if !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") || s.Restart != "unless-stopped" {
			t.Errorf("%s: cap_drop %v, security_opt %v, restart %s", name, s.CapDrop, s.SecurityOpt, s.Restart)
		}
		_, tag, _ := strings.Cut(s.Image, ":")
		if tag == "" || tag == "latest" {
			t.Errorf("%s: image %s has no version", name, s.Image)
		}
		for _, p := range s.Ports {
			if !strings.HasPrefix(p, "127.0.0.1:") {
				t.Errorf("%s: port %s is open to everybody", name, p)
			}
		}
		for _, n := range s.Networks {
			if _, ok := c.Networks[n]; !ok {
				t.Errorf("%s: no network %s", name, n)
			}
		}
		for _, d := range s.DependsOn {
			if _, ok := c.Services[d]; !ok {
				t.Errorf("%s depends on %s", name, d)
			}
		}
		for _, v := range s.Volumes {
			from, _, _ := strings.Cut(v, ":")
			if !strings.HasPrefix(from, ".") {
				if _, ok := c.Volumes[from]; !ok {
					t.Errorf("%s: no volume %s", name, from)
				}
				continue
			}
			if _, err := os.Stat(filepath.Join(root, "deploy", from)); err != nil || !strings.HasSuffix(v, ":ro") {
				t.Errorf("%s: mounts %s (%v)", name, v, err)
			}
		}
	}
	if !strings.Contains(c.Services["grafana"].Environment["GF_SECURITY_ADMIN_PASSWORD"], ":?") {
		t.Error("Grafana gets a password that everybody knows")
	}
}

func TestCompose_PartsFindEachOther(t *testing.T) {
	t.Parallel()
	c := compose(t)
	bot, image := c.Services["parley"], stages(t)[1]
	if !bot.ReadOnly || len(bot.Tmpfs) == 0 {
		t.Error("parley's own files can be written")
	}
	if _, err := os.Stat(filepath.Join(root, "deploy", bot.Build.Context, "Dockerfile")); err != nil {
		t.Error(err)
	}
	targets := func(s service) (out []string) {
		for _, v := range s.Volumes {
			out = append(out, strings.Split(v, ":")[1])
		}
		return out
	}
	if got := targets(bot); !slices.Contains(got, args(image, "VOLUME")[0]) || !strings.Contains(args(image, "CMD")[0], got[0]+"/parley.yaml") {
		t.Errorf("parley mounts %v", got)
	}
	if !strings.HasSuffix(bot.Ports[0], ":"+args(image, "EXPOSE")[0]) {
		t.Errorf("parley publishes %v", bot.Ports)
	}

	var prom struct {
		Global        map[string]string
		RuleFiles     []string `yaml:"rule_files"`
		ScrapeConfigs []struct {
			JobName       string                       `yaml:"job_name"`
			StaticConfigs []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	decode(t, read(t, "deploy", "prometheus.yml"), &prom)
	target := "parley" + bot.Environment["PARLEY_SERVER_METRICS_LISTEN"]
	if got := prom.ScrapeConfigs[0]; got.JobName != "parley" || !slices.Equal(got.StaticConfigs[0].Targets, []string{target}) {
		t.Errorf("Prometheus scrapes %+v, parley is at %s", got, target)
	}
	if got := targets(c.Services["prometheus"]); !slices.Contains(got, "/etc/prometheus/"+prom.RuleFiles[0]) {
		t.Errorf("Prometheus mounts %v", got)
	}

	graf := c.Services["grafana"]
	var sources struct {
		APIVersion  int `yaml:"apiVersion"`
		Datasources []struct {
			Name, UID, Type, Access, URL string
			IsDefault                    bool              `yaml:"isDefault"`
			JSONData                     map[string]string `yaml:"jsonData"`
		}
	}
	decode(t, read(t, "deploy", "grafana", "provisioning", "datasources", "prometheus.yaml"), &sources)
	if s := sources.Datasources[0]; s.URL != "http://prometheus:9090" || s.JSONData["timeInterval"] != prom.Global["scrape_interval"] {
		t.Errorf("Grafana asks %+v", s)
	}
	var boards struct {
		APIVersion int `yaml:"apiVersion"`
		Providers  []struct {
			Name, Folder, Type string
			AllowUIUpdates     bool `yaml:"allowUiUpdates"`
			Options            map[string]string
		}
	}
	decode(t, read(t, "deploy", "grafana", "provisioning", "dashboards", "parley.yaml"), &boards)
	home := graf.Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
	if dir := boards.Providers[0].Options["path"]; !slices.Contains(targets(graf), dir) || home != dir+"/parley.json" {
		t.Errorf("dashboards in %s, home %s, mounted %v", dir, home, targets(graf))
	}
}

// Whoever stops the process waits until it may be expected to have stopped.
func TestStop_HasTimeToBeOrderly(t *testing.T) {
	t.Parallel()
	cfg, err := config.LoadFS(os.DirFS(filepath.Join(root, "configs", "bakery")), "parley.yaml", config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	least := cfg.Server.ShutdownTimeout + 5*time.Second
	if got := compose(t).Services["parley"].StopGracePeriod; got < least {
		t.Errorf("Compose waits %s, want %s", got, least)
	}
	got, err := time.ParseDuration(unit(t)["Service"]["TimeoutStopSec"][0])
	if err != nil || got < least {
		t.Errorf("systemd waits %s (%v), want %s", got, err, least)
	}
}
