package llm

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/parley-bot/parley/internal/secret"
)

// MaxBody is the most that a provider reads of one answer, in bytes.
const MaxBody = 8 << 20

// tooLargeError is an answer over its limit.
type tooLargeError struct{ limit int64 }

func (e *tooLargeError) Error() string {
	return fmt.Sprintf("the answer is over %d bytes", e.limit)
}

// Capped reads from r and fails once more than limit bytes came, where
// io.LimitReader would end as if that was all.
func Capped(r io.Reader, limit int64) io.Reader {
	return &cappedReader{r: r, left: limit, limit: limit}
}

type cappedReader struct {
	r           io.Reader
	left, limit int64
}

func (c *cappedReader) Read(p []byte) (int, error) {
	if c.left < 0 {
		return 0, &tooLargeError{c.limit}
	}
	if int64(len(p)) > c.left+1 {
		p = p[:c.left+1]
	}
	n, err := c.r.Read(p)
	if c.left -= int64(n); c.left < 0 {
		return n - 1, &tooLargeError{c.limit}
	}
	return n, err
}

// ClassOfStatus is the class of a failed HTTP call by its status alone.
func ClassOfStatus(status int) Class {
	switch {
	case status == http.StatusTooManyRequests:
		return RateLimited
	case status == http.StatusServiceUnavailable || status == 529:
		return Overloaded
	case status == http.StatusRequestTimeout || status == http.StatusGatewayTimeout:
		return Timeout
	case status == http.StatusConflict || status == http.StatusTooEarly || status >= 500:
		return Temporary
	case status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusPaymentRequired:
		return Auth
	default:
		return BadRequest
	}
}

// RetryAfter reads how long a server asks to wait: the header retry-after-ms
// in milliseconds, or Retry-After in seconds or as a date (RFC 9110 §10.2.3).
// 0 is not said or past.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return seconds(ms / 1000)
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(value, 64); err == nil {
		return seconds(s)
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// seconds keeps a hostile header within a day.
func seconds(s float64) time.Duration {
	if !(s > 0) {
		return 0
	}
	return time.Duration(min(s, 86400) * float64(time.Second))
}

// Redact prepares what a server said for an error: the credentials are masked
// in every form that they are sent in or echoed in, then it is put on one line
// and cut to 400 runes. Masking comes before the cut, which could leave half a
// credential.
func Redact(text string, secrets ...secret.String) string {
	values := make([]string, len(secrets))
	for i, s := range secrets {
		values[i] = s.Reveal()
	}
	text = secret.NewMasks(1, values...).Text(text)
	var b strings.Builder
	runes, blank := 0, true
	for _, r := range text {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			if !blank {
				b.WriteByte(' ')
			}
			blank = true
			continue
		}
		if runes++; runes > 400 {
			b.WriteString("…")
			break
		}
		blank = false
		b.WriteRune(r)
	}
	return strings.TrimSpace(b.String())
}
