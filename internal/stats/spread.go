package stats

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"
)

// Spread is a distribution of durations. It counts durations in buckets, each two percent larger
// than the one before, like DDSketch. Its results are at most one percent off, and it needs the
// memory of a few hundred numbers, whatever is added. The zero Spread is empty.
type Spread struct {
	count     int
	least     time.Duration
	most      time.Duration
	durations map[int]int // the counts, by the number of the bucket
}

// growth is the ratio of two successive buckets.
const growth = 1.02

// Add adds a duration.
func (s *Spread) Add(d time.Duration) {
	d = max(d, 0)
	if s.count == 0 || d < s.least {
		s.least = d
	}
	if s.durations == nil {
		s.durations = map[int]int{}
	}
	s.count, s.most = s.count+1, max(s.most, d)
	s.durations[sizeOf(d)]++
}

// sizeOf returns the number of the bucket of a duration. Zero has its own bucket.
func sizeOf(d time.Duration) int {
	if d <= 0 {
		return -1
	}
	return int(math.Ceil(math.Log(float64(d)) / math.Log(growth)))
}

// At returns the duration below which a share of all durations is, such as 0.5; 0 if there are
// none.
func (s *Spread) At(share float64) time.Duration {
	left := int(math.Ceil(share * float64(s.count)))
	for _, size := range slices.Sorted(maps.Keys(s.durations)) {
		if left -= s.durations[size]; left <= 0 {
			middle := time.Duration(2 * math.Pow(growth, float64(size)) / (growth + 1))
			if size < 0 {
				middle = 0
			}
			return min(max(middle, s.least), s.most)
		}
	}
	return s.most
}

// percentiles are the shares that figures report.
var percentiles = []struct {
	name  string
	share float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}}

// rows returns the percentiles with their names.
func (s *Spread) rows(name string) (rows []Row) {
	for _, p := range percentiles {
		rows = append(rows, Row{name + "." + p.name, Duration, float64(s.At(p.share))})
	}
	return append(rows, Row{name + ".max", Duration, float64(s.most)})
}

// SpreadText is the JSON form of a Spread; durations are in nanoseconds.
type SpreadText struct {
	Count int           `json:"count"`
	P50   time.Duration `json:"p50"`
	P90   time.Duration `json:"p90"`
	P99   time.Duration `json:"p99"`
	Max   time.Duration `json:"max"`
}

// MarshalJSON writes the percentiles in the form of SpreadText.
func (s Spread) MarshalJSON() ([]byte, error) {
	return json.Marshal(SpreadText{s.count, s.At(0.5), s.At(0.9), s.At(0.99), s.most})
}
