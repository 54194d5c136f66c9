package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// healthBody bounds what is read of an answer; that of /readyz grows with the
// channels.
const healthBody = 64 << 10

func newHealth(streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask a running daemon whether it is well",
		Long: "Asks GET /healthz of a running daemon, or with --ready GET /readyz, and ends with 0 if the answer is 200, else\n" +
			"with 1. Where to ask: --url, else PARLEY_SERVER_LISTEN, else server.listen of the configuration.\n" +
			"Containers without a shell use it as their health check.",
		Example: "  parley health\n  parley health --ready -c /etc/parley/parley.yaml\n  parley health --url http://127.0.0.1:9000",
		RunE:    checkHealth,
	}
	configFlag(cmd)
	cmd.Flags().String("url", "", "the daemon's `URL`, such as http://127.0.0.1:8080; a path of its own is asked as it is")
	cmd.Flags().Bool("ready", false, "ask whether the store and every channel work, not just whether the process lives")
	cmd.Flags().Duration("timeout", 3*time.Second, "wait no longer than `DURATION`")
	return cmd
}

func checkHealth(cmd *cobra.Command, _ []string) error {
	flags := cmd.Flags()
	ready, _ := flags.GetBool("ready")       // declared above
	limit, _ := flags.GetDuration("timeout") // declared above
	given, _ := flags.GetString("url")       // declared above
	if limit <= 0 {
		return usageError{fmt.Errorf("--timeout: expected more than nothing, not %s", limit)}
	}
	base, err := healthBase(cmd, given)
	if err != nil {
		return err
	}
	target, err := healthURL(base, ready)
	if err != nil {
		return usageError{err}
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), limit)
	defer cancel()
	body, err := askHealth(ctx, target)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", body)
	return err
}

// healthBase is where the daemon listens. The variable goes before the file,
// as everywhere; with it no file has to be read, and a health check needs none
// of the secrets that the configuration names.
func healthBase(cmd *cobra.Command, given string) (string, error) {
	if given != "" {
		return given, nil
	}
	listen := os.Getenv("PARLEY_SERVER_LISTEN")
	if listen == "" {
		cfg, err := loadConfig(cmd)
		if err != nil {
			return "", err
		}
		listen = cfg.Server.Listen
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", usageError{fmt.Errorf("server.listen %q is not host:port: %w", listen, err)}
	}
	// An address that means all of them is nobody's in particular.
	switch host {
	case "", "0.0.0.0":
		host = "127.0.0.1"
	case "::":
		host = "::1"
	}
	return "http://" + net.JoinHostPort(host, port), nil
}

// healthURL adds the path of the probe where base has none.
func healthURL(base string, ready bool) (string, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		// url.Error repeats the URL, with a password if it has one.
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err
		}
		return "", fmt.Errorf("--url: %w", err)
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return "", fmt.Errorf("--url %q: it has to begin with http:// or https:// and a host", u.Redacted())
	case u.Path != "" && u.Path != "/":
		return u.String(), nil
	case ready:
		u.Path = "/readyz"
	default:
		u.Path = "/healthz"
	}
	return u.String(), nil
}

// askHealth returns the body of an answer with 200.
func askHealth(ctx context.Context, target string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return "", fmt.Errorf("asking for health: %w", err)
	}
	client := http.Client{
		// The daemon on this machine is not behind a proxy, whatever the
		// environment says, and a redirect is no answer of its.
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	if err != nil {
		return "", fmt.Errorf("not healthy: %w", err)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, healthBody))
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return "", fmt.Errorf("not healthy: reading the answer of %s: %w", req.URL.Redacted(), err)
	}
	text := strings.ToValidUTF8(string(bytes.TrimSpace(body)), "?")
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("not healthy: %s answers %s: %s", req.URL.Redacted(), res.Status, text)
	}
	return text, nil
}
