package chat

import (
	"encoding/json"
	"strconv"
	"strings"
)

// inexact finds the first whole number in a JSON text that would change its value. Arguments have
// the numbers of ECMAScript (TOL-4), which do not include every whole number above 2^53. For
// example, the id of an order would become that of another order. number is the original and as the
// changed text.
func inexact(text string) (number, as string, found bool) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return "", "", false
		}
		number, ok := token.(json.Number)
		if !ok || strings.ContainsAny(number.String(), ".eE") {
			continue
		}
		held, err := strconv.ParseFloat(number.String(), 64)
		if err != nil {
			continue // too large for any number, so the arguments are invalid anyway
		}
		if as := strconv.FormatFloat(held, 'f', 0, 64); as != number.String() {
			return number.String(), as, true
		}
	}
}
