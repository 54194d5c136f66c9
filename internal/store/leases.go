package store

import (
	"context"
	"time"

	"github.com/parley-bot/parley/internal/lease"
)

// laneTerm is how long a lane's lease lasts unless renewed.
const laneTerm = 30 * time.Second

// The columns owner and lease_until are there only where a DB has an Owner.
const (
	qLeaseReady = `SELECT key FROM lane WHERE ready_at IS NOT NULL AND (lease_until<=?1 OR owner=?2)
 AND (?4='' OR position('|'||channel||'|' in ?4)>0) ORDER BY ready_at LIMIT ?3`
	// A row that is locked is somebody else's to claim, or is being written
	// by who will wake the lane's workers.
	qLeaseFree = `SELECT owner, fence, head_attempt FROM lane WHERE key=?1 AND ready_at IS NOT NULL AND (lease_until<=?2 OR owner=?3)
 AND (?4='' OR position('|'||channel||'|' in ?4)>0) /*lock skip*/`
	qLeaseTake = `UPDATE lane SET owner=?2, lease_until=?3, fence=?4, head_attempt=?5 WHERE key=?1`
	qLeaseGive = `UPDATE lane SET owner='', lease_until=0 WHERE key=?1 AND owner=?2`
	// The rows are locked in order first, as several lanes always are.
	qLeaseMine  = `(SELECT key FROM lane WHERE owner=?1 AND owner<>'' ORDER BY key /*lock*/)`
	qLeaseRenew = `UPDATE lane SET lease_until=?2 WHERE key IN ` + qLeaseMine + ` RETURNING key, fence`
	qLeaseLeave = `UPDATE lane SET owner='', lease_until=0 WHERE key IN ` + qLeaseMine
)

// readyLeases lists lanes with work that nobody has a live lease of.
func (s *Store) readyLeases(ctx context.Context, limit int) ([]string, error) {
	owner, known := s.db.Owner(), s.claims.len()
	return peek(ctx, s, func(tx Tx, now time.Time) (out []string, err error) {
		err = tx.Rows(qLeaseReady, []any{ms(now), owner, limit + known, s.served}, func(scan func(...any) error) error {
			var key string
			if err := scan(&key); err != nil {
				return err
			}
			if len(out) < limit && !s.claims.has(key) {
				out = append(out, key)
			}
			return nil
		})
		return out, wrap("listing ready lanes", err)
	})
}

// takeLease is T1 where leases are rows. A lane whose last owner let its lease
// run out was cut short: that counts as an attempt. One that is this process's
// own without its knowing, since the answer to a claim was lost, is simply had.
func (s *Store) takeLease(ctx context.Context, key string) (lease.Lane, bool, error) {
	type taken struct {
		l  lease.Lane
		ok bool
	}
	owner := s.db.Owner()
	out, err := write(ctx, s, key, func(tx Tx, now time.Time) (t taken, err error) {
		l := lease.Lane{Key: key}
		var before string
		if t.ok, err = tx.Row(qLeaseFree, []any{key, ms(now), owner, s.served}, &before, &l.Fence, &l.Attempt); err != nil || !t.ok {
			return t, wrap("reading lane's lease", err)
		}
		if before != "" && before != owner {
			l.Attempt++
		}
		l.Fence++
		t.l = l
		_, err = tx.Exec(qLeaseTake, key, owner, ms(now.Add(laneTerm)), l.Fence, l.Attempt)
		return t, wrap("taking lane's lease", err)
	})
	return out.l, out.ok && err == nil, err
}

// giveLease ends a lease, unless it is another's by now.
func (s *Store) giveLease(ctx context.Context, key string) error {
	owner := s.db.Owner()
	_, err := write(ctx, s, key, func(tx Tx, _ time.Time) (none, error) {
		_, err := tx.Exec(qLeaseGive, key, owner)
		return none{}, wrap("giving lane's lease back", err)
	})
	return err
}

// Renew keeps the leases of this process alive and returns the lanes that it
// has lost: those taken over, and those whose turn was ended from outside. It
// is one commit however many there are; where claims live in memory it has
// nothing to do.
func (s *Store) Renew(ctx context.Context) (lost []string, err error) {
	owner := s.db.Owner()
	have := s.claims.fenced()
	if owner == "" || len(have) == 0 {
		return nil, nil
	}
	now, err := write(ctx, s, "", func(tx Tx, now time.Time) (map[string]int64, error) {
		rows := map[string]int64{}
		err := tx.Rows(qLeaseRenew, []any{owner, ms(now.Add(laneTerm))}, func(scan func(...any) error) error {
			var key string
			var fence int64
			err := scan(&key, &fence)
			rows[key] = fence
			return err
		})
		return rows, wrap("renewing leases", err)
	})
	if err != nil {
		return nil, err
	}
	still := s.claims.fenced()
	for key, fence := range have {
		// One that was given back meanwhile isn't lost.
		if at, ok := now[key]; (!ok || at != fence) && still[key] == fence {
			lost = append(lost, key)
		}
	}
	for key := range now {
		if !s.claims.has(key) {
			// The answer to its claim was lost. Nobody works on it, so it must
			// not be renewed for ever.
			if err := s.giveLease(ctx, key); err != nil {
				return lost, err
			}
		}
	}
	return lost, nil
}

// leave ends all leases of this process.
func (s *Store) leave() error {
	owner := s.db.Owner()
	if owner == "" || s.claims.len() == 0 {
		return nil
	}
	_, err := write(context.Background(), s, "", func(tx Tx, _ time.Time) (none, error) {
		_, err := tx.Exec(qLeaseLeave, owner)
		return none{}, wrap("giving leases back", err)
	})
	return err
}
