package metrics

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/prometheus/common/expfmt"
)

// scrapes bounds the scrapes that are answered at once.
const scrapes = 4

// Handler serves the metrics in Prometheus's text format, which every scraper
// takes, zipped where it can be. client_golang's own handler isn't used: the
// formats it offers beside this one, which nobody asks for unless there are
// native histograms, weigh 300 kB.
func (r *Registry) Handler() http.Handler {
	free := make(chan struct{}, scrapes)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		select {
		case free <- struct{}{}:
			defer func() { <-free }()
		default:
			http.Error(w, "too many scrapes at once", http.StatusServiceUnavailable)
			return
		}
		// One broken collector must not hide the others.
		families, err := r.reg.Gather()
		if err != nil && len(families) == 0 {
			http.Error(w, "gathering metrics: "+err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", string(expfmt.NewFormat(expfmt.TypeTextPlain)))
		var to io.Writer = w
		if strings.Contains(req.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			zip := gzip.NewWriter(w)
			defer func() { _ = zip.Close() }() // it fails where the scraper is gone
			to = zip
		}
		out := bufio.NewWriter(to)
		for _, f := range families {
			if _, err := expfmt.MetricFamilyToText(out, f); err != nil {
				return // the scraper is gone
			}
		}
		if err != nil { // a comment, for whoever looks why something is missing
			_, _ = fmt.Fprintf(out, "# not gathered: %q\n", err)
		}
		_ = out.Flush() // it fails where the scraper is gone
	})
}
