package stats

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"
)

// Spread is how durations are spread. It counts them by their size, each size a fiftieth
// larger than the one before, as DDSketch does: what it says is at most a hundredth off, in
// the memory of a few hundred numbers, whatever it was told. The zero Spread is of nothing.
type Spread struct {
	count     int
	least     time.Duration
	most      time.Duration
	durations map[int]int // how many there are, by their size
}

// growth is how much larger each size is than the one before.
const growth = 1.02

// Add tells it one more.
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

// sizeOf is the number of the size of a duration. No time at all is a size of its own.
func sizeOf(d time.Duration) int {
	if d <= 0 {
		return -1
	}
	return int(math.Ceil(math.Log(float64(d)) / math.Log(growth)))
}

// At is the duration below which the share lies of all, such as 0.5; zero of nothing.
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

// percentiles are the shares that figures tell.
var percentiles = []struct {
	name  string
	share float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}}

// rows are the percentiles under their names.
func (s *Spread) rows(name string) (rows []Row) {
	for _, p := range percentiles {
		rows = append(rows, Row{name + "." + p.name, Duration, float64(s.At(p.share))})
	}
	return append(rows, Row{name + ".max", Duration, float64(s.most)})
}

// SpreadText is how the JSON of a Spread reads; durations are nanoseconds.
type SpreadText struct {
	Count int           `json:"count"`
	P50   time.Duration `json:"p50"`
	P90   time.Duration `json:"p90"`
	P99   time.Duration `json:"p99"`
	Max   time.Duration `json:"max"`
}

// MarshalJSON gives the percentiles, as SpreadText reads them.
func (s Spread) MarshalJSON() ([]byte, error) {
	return json.Marshal(SpreadText{s.count, s.At(0.5), s.At(0.9), s.At(0.99), s.most})
}
