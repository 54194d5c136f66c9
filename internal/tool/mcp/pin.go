package mcptool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// ErrNotConfigured is a server that the configuration doesn't name.
var ErrNotConfigured = errors.New("not configured")

// Seen is what servers offer when they are looked at.
type Seen struct {
	// Lock has the pins that the present cards of allowed tools would have.
	// Servers that weren't looked at or can't be reached have their old ones;
	// those that aren't configured any more have none.
	Lock Lock
	// Problems are what can't be pinned, and servers that can't be reached.
	Problems []error
	// Others name, for each server that has any, the tools that aren't
	// allowed.
	Others []string
}

// Look connects once to each server of names (none: all). The error is
// ErrNotConfigured, of a name.
func (f *Fleet) Look(ctx context.Context, before Lock, names []string) (Seen, error) {
	var chosen []*server
	var out Seen
	for _, s := range f.servers {
		out.Lock = out.Lock.with(s.cfg.Name, before.servers[s.cfg.Name])
		if len(names) == 0 || slices.Contains(names, s.cfg.Name) {
			chosen = append(chosen, s)
		}
	}
	for _, n := range names {
		if !slices.ContainsFunc(chosen, func(s *server) bool { return s.cfg.Name == n }) {
			return Seen{}, fmt.Errorf("mcp server %s is %w", n, ErrNotConfigured)
		}
	}
	lists, errs := lookAll(ctx, chosen)
	for i, s := range chosen {
		if errs[i] != nil {
			out.Problems = append(out.Problems, errs[i])
			continue
		}
		cards := map[string]Card{}
		for _, a := range s.cfg.Allow {
			card, ok := lists[i].cards[a.Name]
			if why := lists[i].wrong[a.Name]; why != nil {
				out.Problems = append(out.Problems, fmt.Errorf("mcp server %s, tool %s: %w", s.cfg.Name, a.Name, why))
			} else if !ok {
				out.Problems = append(out.Problems, fmt.Errorf("mcp server %s has no tool %q", s.cfg.Name, a.Name))
			} else {
				cards[a.Name] = card
			}
		}
		out.Lock = out.Lock.with(s.cfg.Name, cards)
		if others := s.others(lists[i]); others != "" {
			out.Others = append(out.Others, fmt.Sprintf("mcp server %s also has: %s", s.cfg.Name, others))
		}
	}
	return out, nil
}

// Check connects once to each server and tells what Run would find.
func (f *Fleet) Check(ctx context.Context) (held []Quarantine, problems []error) {
	lists, errs := lookAll(ctx, f.servers)
	for i, s := range f.servers {
		if errs[i] != nil {
			problems = append(problems, errs[i])
			continue
		}
		for _, a := range s.cfg.Allow {
			if r := s.judge(&lists[i], a.Name); r != "" {
				held = append(held, Quarantine{s.cfg.Name, a.Name, r})
			}
		}
	}
	return held, problems
}

// lookAll lists the servers' tools, all at the same time.
func lookAll(ctx context.Context, servers []*server) ([]listed, []error) {
	lists, errs := make([]listed, len(servers)), make([]error, len(servers))
	var all sync.WaitGroup
	for i, s := range servers {
		all.Go(func() {
			sess, err := s.open(ctx)
			if err != nil {
				errs[i] = fmt.Errorf("mcp server %s: %s", s.cfg.Name, s.clean(err))
				return
			}
			s.close(sess)
			lists[i] = sess.list
		})
	}
	all.Wait()
	return lists, errs
}

// others names the tools that aren't allowed.
func (s *server) others(l listed) string {
	const most = 40
	var names []string
	for _, n := range slices.Sorted(maps.Keys(l.cards)) {
		if _, ok := s.cfg.allowed(n); !ok {
			names = append(names, oneLine(n))
		}
	}
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return strings.Join(names, ", ")
}
