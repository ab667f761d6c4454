package chat

import (
	"encoding/json"
	"strconv"
	"strings"
)

// inexact is the first whole number in a JSON text that a tool would get as another one, since
// arguments have the numbers of ECMAScript (TOL-4): above 2^53 not every one is among them. An order
// whose id has one digit more is another order.
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
			continue // it is above all of them, which is no valid argument
		}
		if as := strconv.FormatFloat(held, 'f', 0, 64); as != number.String() {
			return number.String(), as, true
		}
	}
}
