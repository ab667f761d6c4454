package stats

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/jsonfault"
	"github.com/adkreplay/adkreplay/internal/safetext"
)

// Prices are what models cost. They are read from a file such as
//
//	{"currency": "USD", "models": {"small*": {"in": 0.15, "cached": 0.075, "out": 0.6}}}
type Prices struct {
	Currency string
	// Models are the prices by names of models, in which * stands for any characters except a
	// slash, as in path.Match. An exact name takes precedence over a pattern, and a longer pattern
	// over a shorter one.
	Models map[string]Price
}

// Price is what a million tokens of a model cost.
type Price struct {
	In  float64
	Out float64
	// Cached is the price of tokens from a cache; if it is nil, they cost the same as In.
	Cached *float64
}

// tokensOfPrice is the number of tokens that a price is for.
const tokensOfPrice = 1_000_000

// ReadPrices reads a file of prices. The error says what is wrong with it.
func ReadPrices(in io.Reader) (*Prices, error) {
	p := &Prices{}
	decoder := json.NewDecoder(in)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(p); err != nil {
		return nil, fmt.Errorf("these are no prices: %w", jsonfault.Of(err))
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("these are no prices: there is more behind the document")
	}
	if p.Currency == "" || len(p.Models) == 0 {
		return nil, errors.New(`these are no prices: there have to be "currency" and "models"`)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Models)) {
		price := p.Models[name]
		if _, err := path.Match(name, ""); err != nil {
			return nil, fmt.Errorf("the price of %s: this is no pattern", safetext.Quoted(name))
		}
		if price.In < 0 || price.Out < 0 || price.Cached != nil && *price.Cached < 0 {
			return nil, fmt.Errorf("the price of %s is less than nothing", safetext.Quoted(name))
		}
	}
	return p, nil
}

// of returns the price of a model, and whether there is one.
func (p *Prices) of(model string) (Price, bool) {
	if price, ok := p.Models[model]; ok {
		return price, true
	}
	var fits []string
	for name := range p.Models {
		if ok, _ := path.Match(name, model); ok {
			fits = append(fits, name)
		}
	}
	if len(fits) == 0 {
		return Price{}, false
	}
	slices.SortFunc(fits, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return p.Models[fits[0]], true
}

// cost returns the cost of tokens.
func (p Price) cost(t Tokens) float64 {
	cached := p.In
	if p.Cached != nil {
		cached = *p.Cached
	}
	return (float64(t.In-t.Cached)*p.In + float64(t.Cached)*cached + float64(t.Out)*p.Out) / tokensOfPrice
}
