package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/parley-bot/parley/internal/store"
)

// childEnv names the database of a child process: "path mode".
const childEnv = "PARLEY_SQLITE_TEST_CHILD"

// child is the other process: it opens the database and says so, or writes
// until it is killed in the midst of a commit.
func child(arg string) int {
	mode, path, _ := strings.Cut(arg, " ")
	opts := Options{}
	if n, phase, ok := strings.Cut(mode, "@"); ok {
		opts.OnCommit = func(i int64, p string) {
			if strconv.FormatInt(i, 10) == n && p == phase {
				self, err := os.FindProcess(os.Getpid())
				if err == nil {
					err = self.Kill()
				}
				fmt.Println("still alive:", err)
				select {} // the end comes from outside
			}
		}
	}
	db, err := Open(context.Background(), path, opts)
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	fmt.Println("open")
	if opts.OnCommit == nil {
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // until the parent has enough
		return 0
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	for w := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				key := fmt.Sprintf("%d-%d", w, i)
				err := db.Write(context.Background(), "", put(key))
				mu.Lock()
				if err != nil {
					fmt.Println("error:", err)
				} else {
					fmt.Println("acked", key)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return 0
}

// start runs a child on the database and waits until it has opened it.
func start(t *testing.T, mode, path string) (cmd *exec.Cmd, lines *bufio.Scanner) {
	t.Helper()
	cmd = exec.Command(os.Args[0]) // this very test
	cmd.Env = append(os.Environ(), childEnv+"="+mode+" "+path)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines = bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "open" {
		t.Fatalf("the child said %q", lines.Text())
	}
	return cmd, lines
}

func TestProcess_SecondIsRefusedUntilTheFirstDies(t *testing.T) {
	t.Parallel()
	path := file(t)
	cmd, _ := start(t, "hold", path)
	_, err := Open(t.Context(), path, Options{})
	if want := fmt.Sprintf("pid %d", cmd.Process.Pid); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("beside the child: %v, want it to name %s", err, want)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	db := openDB(t, path, Options{})
	if !db.Unclean() {
		t.Error("nobody noticed that it was killed")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if openDB(t, path, Options{}).Unclean() {
		t.Error("unclean after a good end")
	}
}

// Whatever was acknowledged is there after a kill on either side of a commit,
// and what the last commit held is there whole or not at all.
func TestProcess_G3_KilledRoundACommit(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"1@before", "1@after", "7@before", "40@after", "41@before"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			path := file(t)
			cmd, lines := start(t, mode, path)
			acked := map[string]bool{}
			for lines.Scan() {
				key, ok := strings.CutPrefix(lines.Text(), "acked ")
				if !ok {
					t.Errorf("the child said %q", lines.Text())
				}
				acked[key] = true
			}
			_ = cmd.Wait() // it killed itself
			db := openDB(t, path, Options{})
			if !db.Unclean() {
				t.Error("nobody noticed that it was killed")
			}
			var there int
			err := db.Read(t.Context(), func(tx store.Tx) error {
				return tx.Rows(`SELECT key FROM state`, nil, func(scan func(...any) error) error {
					var key string
					err := scan(&key)
					delete(acked, key)
					there++
					return err
				})
			})
			if err != nil || len(acked) > 0 {
				t.Errorf("lost %v, error %v", acked, err)
			}
			if mode == "1@before" && there != 0 {
				t.Errorf("%d rows of a commit that was not made", there)
			}
			if mode == "1@after" && there == 0 {
				t.Error("nothing of a commit that was made")
			}
		})
	}
}
