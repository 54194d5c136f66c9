package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/parley-bot/parley/internal/lease"
)

// errEnough ends the reading of rows.
var errEnough = errors.New("enough rows")

// Serve says whose lanes this process works on: those of the channels that it
// has. Those of others wait for a process that has them. It must come before
// the first Ready; without it lanes of all channels are worked on.
func (s *Store) Serve(channels []string) {
	s.served = "|" + strings.Join(channels, "|") + "|"
}

func (s *Store) serves(channel string) bool {
	return s.served == "" || strings.Contains(s.served, "|"+channel+"|")
}

// Ready lists lanes with work that nobody works on.
func (s *Store) Ready(ctx context.Context, limit int) ([]string, error) {
	if s.db.Owner() != "" {
		return s.readyLeases(ctx, limit)
	}
	return read(ctx, s, func(tx Tx, _ time.Time) (out []string, err error) {
		// No LIMIT: lanes that are worked on stay in front of those that wait.
		err = tx.Rows(`SELECT key, channel FROM lane WHERE ready_at IS NOT NULL ORDER BY ready_at`, nil, func(scan func(...any) error) error {
			if len(out) >= limit {
				return errEnough
			}
			var key, channel string
			if err := scan(&key, &channel); err != nil {
				return err
			}
			if s.serves(channel) && !s.claims.has(key) {
				out = append(out, key)
			}
			return nil
		})
		if errors.Is(err, errEnough) {
			err = nil
		}
		return out, wrap("listing ready lanes", err)
	})
}

// Claim is T1. Where one process owns the database it needs no commit: the
// claim lives in memory, and a restart forgets it.
func (s *Store) Claim(ctx context.Context, key string) (lease.Lane, bool, error) {
	if !s.claims.take(key) {
		return lease.Lane{}, false, nil
	}
	l, ok, err := s.claim(ctx, key)
	if err != nil || !ok {
		s.claims.drop(key)
		return lease.Lane{}, false, err
	}
	s.claims.fence(key, l.Fence)
	return l, true, nil
}

func (s *Store) claim(ctx context.Context, key string) (lease.Lane, bool, error) {
	if s.db.Owner() != "" {
		return s.takeLease(ctx, key)
	}
	row, err := peek(ctx, s, func(tx Tx, _ time.Time) (lane, error) {
		row, _, err := getLane(tx, key)
		return row, err
	})
	if err != nil || row.ready == 0 || !s.serves(row.channel) {
		return lease.Lane{}, false, err
	}
	return lease.Lane{Key: key, Fence: row.fence, Attempt: row.attempt}, true, nil
}

// Release gives a lane back, where it isn't yet.
func (s *Store) Release(ctx context.Context, l lease.Lane) error {
	if s.db.Owner() != "" && s.claims.has(l.Key) {
		if err := s.giveLease(ctx, l.Key); err != nil {
			return err
		}
	}
	s.claims.drop(l.Key)
	return nil
}

// Waiting counts lanes with work, and open questions.
func (s *Store) Waiting(ctx context.Context) (lanes, questions int, err error) {
	lanes, err = read(ctx, s, func(tx Tx, _ time.Time) (n int, err error) {
		if _, err = tx.Row(`SELECT count(*) FROM lane WHERE ready_at IS NOT NULL`, nil, &n); err != nil {
			return 0, fmt.Errorf("counting lanes: %w", err)
		}
		_, err = tx.Row(`SELECT count(*) FROM wait WHERE state='pending'`, nil, &questions)
		return n, wrap("counting questions", err)
	})
	return lanes, questions, err
}

// Ping writes something small, to learn whether the store can be written.
func (s *Store) Ping(ctx context.Context) error {
	_, err := write(ctx, s, "", func(tx Tx, now time.Time) (none, error) {
		_, err := tx.Exec(`INSERT INTO meta(name, value) VALUES('ping', ?1) ON CONFLICT(name) DO UPDATE SET value=?1`, strconv.FormatInt(ms(now), 10))
		return none{}, err
	})
	return err
}

// Shared tells whether several processes may have the database at once, so
// that what only one may do takes a lease: those whose DB has an Owner, unless
// it says otherwise by a method of this name.
func (s *Store) Shared() bool {
	if db, ok := s.db.(interface{ Shared() bool }); ok {
		return db.Shared()
	}
	return s.db.Owner() != ""
}

// AccountTerm is how long an account's lease lasts unless renewed.
const AccountTerm = 30 * time.Second

// RoleSend is the role of who sends for an account.
const RoleSend = "send"

// Owner names this process in leases; "" where no other has the database.
func (s *Store) Owner() string { return s.db.Owner() }

const qLeaseForeign = `SELECT owner FROM account_lease WHERE account=?1 AND role='` + RoleSend + `' AND owner<>?2 AND lease_until>?3`

// foreign tells whether another process sends for the channel: one that was
// frozen may not know yet.
func (s *Store) foreign(tx Tx, now time.Time, channel string) (bool, error) {
	owner := s.db.Owner()
	if owner == "" {
		return false, nil
	}
	var other string
	ok, err := tx.Row(qLeaseForeign, []any{channel, owner, ms(now)}, &other)
	return ok, wrap("reading account lease", err)
}

// LeaseAccount takes or renews the right to receive or to send for an account
// for 30 s; ok is false while another owner's lease lasts. The fence grows when
// the owner changes.
func (s *Store) LeaseAccount(ctx context.Context, account, role, owner string) (fence int64, ok bool, err error) {
	fence, err = write(ctx, s, account, func(tx Tx, now time.Time) (int64, error) {
		ok = false
		var holder string
		var until, fence int64
		found, err := tx.Row(`SELECT owner, lease_until, fence FROM account_lease WHERE account=?1 AND role=?2 /*lock*/`, []any{account, role}, &holder, &until, &fence)
		if err != nil {
			return 0, fmt.Errorf("reading account lease: %w", err)
		}
		if found && holder != owner && until > ms(now) {
			return fence, nil
		}
		if holder != owner {
			fence++
		}
		query := `INSERT INTO account_lease(account, role, owner, lease_until, fence) VALUES(?1, ?2, ?3, ?4, ?5)`
		if found {
			query = `UPDATE account_lease SET owner=?3, lease_until=?4, fence=?5 WHERE account=?1 AND role=?2`
		}
		_, err = tx.Exec(query, account, role, owner, ms(now.Add(AccountTerm)), fence)
		ok = err == nil
		return fence, wrap("taking account lease", err)
	})
	return fence, ok && err == nil, err
}

// ReleaseAccount ends a lease at once.
func (s *Store) ReleaseAccount(ctx context.Context, account, role, owner string) error {
	_, err := write(ctx, s, account, func(tx Tx, _ time.Time) (none, error) {
		_, err := tx.Exec(`UPDATE account_lease SET lease_until=0 WHERE account=?1 AND role=?2 AND owner=?3`, account, role, owner)
		return none{}, wrap("releasing account lease", err)
	})
	return err
}

// metaAlone names the lane that runs alone.
const metaAlone = "alone"

// Alone notes which lane is worked on while no other is; "" is none any more.
// A crash meanwhile is that lane's doing alone: those that wait for it must not
// be given up for it. Where leases are rows they tell that already.
func (s *Store) Alone(ctx context.Context, key string) error {
	if s.db.Owner() != "" {
		return nil // its lease tells
	}
	_, err := write(ctx, s, key, func(tx Tx, _ time.Time) (none, error) {
		_, err := tx.Exec(`INSERT INTO meta(name, value) VALUES(?1, ?2) ON CONFLICT(name) DO UPDATE SET value=?2`, metaAlone, key)
		return none{}, wrap("noting which lane runs alone", err)
	})
	return err
}

// CountCrash adds one attempt to every lane that had work when the process
// before this one stopped uncleanly: any of them may have been the reason,
// unless one ran alone. Where leases are rows it is counted by the claim after
// one that ran out.
func (s *Store) CountCrash(ctx context.Context) error {
	if s.db.Owner() != "" {
		return nil
	}
	_, err := write(ctx, s, "", func(tx Tx, _ time.Time) (none, error) {
		var suspect string
		if _, err := tx.Row(`SELECT value FROM meta WHERE name=?1`, []any{metaAlone}, &suspect); err != nil {
			return none{}, fmt.Errorf("reading which lane ran alone: %w", err)
		}
		if _, err := tx.Exec(`UPDATE lane SET head_attempt=head_attempt+1 WHERE ready_at IS NOT NULL AND (?1='' OR key=?1)
 AND (?2='' OR instr(?2, '|'||channel||'|')>0)`, suspect, s.served); err != nil {
			return none{}, fmt.Errorf("counting interrupted work: %w", err)
		}
		_, err := tx.Exec(`DELETE FROM meta WHERE name=?1`, metaAlone)
		return none{}, wrap("counting interrupted work", err)
	})
	return err
}
