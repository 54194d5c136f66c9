//go:build linux

package deploy

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// exposure is the most that systemd-analyze security may find, times ten.
const exposure = "15"

// unit reads the systemd unit: section, key, values in order.
func unit(t *testing.T) map[string]map[string][]string {
	t.Helper()
	out := map[string]map[string][]string{}
	section := ""
	for line := range strings.Lines(read(t, "deploy", "parley.service")) {
		line = strings.TrimSpace(line)
		switch {
		case line == "", strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			section = strings.Trim(line, "[]")
			out[section] = map[string][]string{}
		default:
			key, value, ok := strings.Cut(line, "=")
			if !ok || section == "" {
				t.Fatalf("parley.service: %q", line)
			}
			out[section][key] = append(out[section][key], value)
		}
	}
	return out
}

func TestUnit_IsHardened(t *testing.T) {
	t.Parallel()
	service := unit(t)["Service"]
	for key, want := range map[string]string{
		"User": "parley", "StateDirectory": "parley", "WorkingDirectory": "%S/parley", "UMask": "0077",
		"ProtectSystem": "strict", "ProtectHome": "yes", "PrivateTmp": "yes", "PrivateDevices": "yes", "PrivateUsers": "yes",
		"NoNewPrivileges": "yes", "CapabilityBoundingSet": "", "AmbientCapabilities": "", "RestrictSUIDSGID": "yes",
		"RestrictNamespaces": "yes", "RestrictRealtime": "yes", "LockPersonality": "yes", "RemoveIPC": "yes",
		"ProtectKernelTunables": "yes", "ProtectKernelModules": "yes", "ProtectKernelLogs": "yes", "ProtectControlGroups": "yes",
		"ProtectClock": "yes", "ProtectHostname": "yes", "ProtectProc": "invisible", "MemoryDenyWriteExecute": "yes",
		"SystemCallArchitectures": "native", "RestrictAddressFamilies": "AF_INET AF_INET6 AF_UNIX",
		"Restart": "always", "RestartPreventExitStatus": "2",
		"ExecStart": "/usr/local/bin/parley serve -c /etc/parley/parley.yaml",
	} {
		if got := service[key]; !slices.Equal(got, []string{want}) {
			t.Errorf("%s=%q, want %q", key, got, want)
		}
	}
	if got := service["SystemCallFilter"]; !slices.Equal(got, []string{"@system-service", "~@privileged @resources"}) {
		t.Errorf("SystemCallFilter=%q", got)
	}
	// process_start_time_seconds needs /proc/stat.
	if service["ProcSubset"] != nil {
		t.Errorf("ProcSubset=%q hides what the metrics read", service["ProcSubset"])
	}
	user := read(t, "deploy", "parley.sysusers")
	if !strings.Contains(user, "\nu parley - ") {
		t.Errorf("parley.sysusers makes no user parley:\n%s", user)
	}
}

func TestUnit_SystemdTakesIt(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd-analyze is not installed: the unit was checked by reading it (TestUnit_IsHardened)")
		return
	}
	// The program isn't installed where the unit says.
	self, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "parley.service")
	write(t, path, strings.Replace(read(t, "deploy", "parley.service"), "/usr/local/bin/parley", self, 1))
	for _, args := range [][]string{
		{"verify", "--man=no", path},
		{"security", "--offline=true", "--threshold=" + exposure, "--no-pager", path},
	} {
		out, err := exec.CommandContext(t.Context(), analyze, args...).CombinedOutput()
		text := strings.TrimSpace(string(out))
		if err != nil {
			t.Errorf("systemd-analyze %s: %v\n%s", args[0], err, text)
		}
		// It says what it doesn't know, and ends well.
		if args[0] == "verify" && text != "" {
			t.Errorf("systemd-analyze verify: %s", text)
		}
		t.Log(text[strings.LastIndex(text, "\n")+1:])
	}
}
