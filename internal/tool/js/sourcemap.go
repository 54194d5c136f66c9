package js

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
)

// lineMap leads from the bundle back to the user's own files. Packages and
// the runtime are left out: what matters to the owner is the line of his.
type lineMap struct {
	Files []string `json:"files"`
	// Spans are sorted by place in the bundle; each reaches to the next.
	Spans []span `json:"spans"`
}

// span is [generated line, generated column, file or -1, line, column], lines
// from 1 and columns from 0 in UTF-16 units.
type span [5]int

func (m lineMap) lookup(line, column int) (file string, l, c int, ok bool) {
	i := sort.Search(len(m.Spans), func(i int) bool {
		s := m.Spans[i]
		return s[0] > line || s[0] == line && s[1] > column-1
	}) - 1
	if i < 0 || m.Spans[i][2] < 0 {
		return "", 0, 0, false
	}
	s := m.Spans[i]
	return m.Files[s[2]], s[3], s[4] + 1, true
}

// newLineMap reads a source map (version 3, ECMA-426).
func newLineMap(raw []byte) (lineMap, error) {
	var doc struct {
		Sources  []string `json:"sources"`
		Mappings string   `json:"mappings"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return lineMap{}, fmt.Errorf("read the source map: %w", err)
	}
	var m lineMap
	own := make([]int, len(doc.Sources))
	for i, s := range doc.Sources {
		own[i] = -1
		if isOwn(s) {
			own[i] = len(m.Files)
			m.Files = append(m.Files, strings.TrimPrefix(s, "embed:"))
		}
	}
	source, line, column := 0, 0, 0
	for n, group := range strings.Split(doc.Mappings, ";") {
		generated := 0
		for segment := range strings.SplitSeq(group, ",") {
			v, err := decodeVLQ(segment)
			if err != nil {
				return lineMap{}, err
			}
			if len(v) == 0 {
				continue
			}
			generated += v[0]
			s := span{n + 1, generated, -1, 0, 0}
			if len(v) >= 4 {
				source, line, column = source+v[1], line+v[2], column+v[3]
				if source >= 0 && source < len(own) && own[source] >= 0 {
					s = span{n + 1, generated, own[source], line + 1, column}
				}
			}
			if last := len(m.Spans) - 1; s[2] < 0 && last >= 0 && m.Spans[last][2] < 0 {
				continue
			}
			m.Spans = append(m.Spans, s)
		}
	}
	return m, nil
}

func isOwn(source string) bool {
	return !strings.HasPrefix(source, "parley:") && !strings.Contains(source, "node_modules/") && !strings.HasPrefix(source, "(")
}

// decodeVLQ decodes the base64 numbers of one segment.
func decodeVLQ(s string) ([]int, error) {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	var out []int
	value, shift := 0, 0
	for _, r := range s {
		d := strings.IndexRune(digits, r)
		if d < 0 || shift > 30 {
			return nil, fmt.Errorf("read the source map: segment %q is broken", s)
		}
		value |= (d & 31) << shift
		if d&32 != 0 {
			shift += 5
			continue
		}
		if value&1 != 0 {
			value = -(value >> 1)
		} else {
			value >>= 1
		}
		out = append(out, value)
		value, shift = 0, 0
	}
	return out, nil
}
