package metrics

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

func scrape(t *testing.T, h http.Handler, header ...string) *http.Response {
	t.Helper()
	req := httptest.NewRequest("GET", "/metrics", nil)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w.Result()
}

// What is served is what Prometheus's own parsers take, in whatever format was
// asked for.
func TestHandler_IsReadByPrometheus(t *testing.T) {
	t.Parallel()
	r := New("1")
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "parley_wait_seconds", Help: "With \\ and \n.", Buckets: []float64{1, 2}}, []string{"of"})
	r.Registerer().MustRegister(h)
	h.WithLabelValues("a\"\n").Observe(1.5)
	for _, accept := range []string{"", "text/plain;version=0.0.4", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"} {
		res := scrape(t, r.Handler(), "Accept", accept)
		got := map[string]*dto.MetricFamily{}
		for d := expfmt.NewDecoder(res.Body, expfmt.ResponseFormat(res.Header)); ; {
			var f dto.MetricFamily
			if err := d.Decode(&f); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", accept, err)
			}
			got[f.GetName()] = &f
		}
		if n := got["parley_wait_seconds"].GetMetric()[0].GetHistogram().GetSampleCount(); n != 1 || got["go_goroutines"] == nil {
			t.Errorf("%s: %d observations in %d families", accept, n, len(got))
		}
	}
}

func TestHandler_Zipped(t *testing.T) {
	t.Parallel()
	res := scrape(t, New("1").Handler(), "Accept-Encoding", "gzip, deflate")
	if e := res.Header.Get("Content-Encoding"); e != "gzip" {
		t.Fatalf("Content-Encoding %q", e)
	}
	zip, err := gzip.NewReader(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(zip) // its checksum is looked at
	if err != nil || !strings.Contains(string(body), "\nprocess_start_time_seconds ") {
		t.Errorf("%v\n%s", err, body)
	}
}

func TestHandler_OneBrokenCollectorHidesNoOther(t *testing.T) {
	t.Parallel()
	r := New("1")
	broken := prometheus.NewInvalidDesc(errors.New("no disk"))
	r.Registerer().MustRegister(collector(func(c chan<- prometheus.Metric) {
		c <- prometheus.NewInvalidMetric(broken, errors.New("no disk"))
	}))
	res := scrape(t, r.Handler())
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(body), "\ngo_goroutines ") {
		t.Errorf("%s, %v\n%s", res.Status, err, body)
	}
	p := expfmt.NewTextParser(model.UTF8Validation)
	if _, err := p.TextToMetricFamilies(bytes.NewReader(body)); err != nil {
		t.Error(err)
	}
}

func TestHandler_FourAtOnce(t *testing.T) {
	t.Parallel()
	r := New("1")
	inside, leave := make(chan struct{}), make(chan struct{})
	r.Registerer().MustRegister(collector(func(chan<- prometheus.Metric) { inside <- struct{}{}; <-leave }))
	h, done := r.Handler(), make(chan int, scrapes)
	for range scrapes {
		go func() { done <- scrape(t, h).StatusCode }()
	}
	for range scrapes {
		<-inside
	}
	if code := scrape(t, h).StatusCode; code != http.StatusServiceUnavailable {
		t.Errorf("one more: %d", code)
	}
	close(leave)
	for range scrapes {
		if code := <-done; code != http.StatusOK {
			t.Errorf("one of four: %d", code)
		}
	}
}

// collector collects without describing: it is unchecked.
type collector func(chan<- prometheus.Metric)

func (collector) Describe(chan<- *prometheus.Desc)       {}
func (c collector) Collect(out chan<- prometheus.Metric) { c(out) }
