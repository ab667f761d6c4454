package data

import "strings"

// locale says how numbers are written in a place, after CLDR. It is a table of its own, so that no
// release of a library changes it.
type locale struct {
	name           string
	decimal, group string
	minus          string
	// leastGrouped is the least number of digits of a number that is grouped.
	leastGrouped int
	percent      string // follows the number
	// symbolFirst puts the currency symbol before the number; between is what separates the two.
	symbolFirst bool
	between     string
	// own has the symbols of currencies in this place, if they differ from symbols.
	own map[string]string
}

const (
	noBreak = "\u00a0"
	narrow  = "\u202f"
)

var locales = []locale{
	{"en-US", ".", ",", "-", 4, "%", true, "", map[string]string{"USD": "$"}},
	{"en-GB", ".", ",", "-", 4, "%", true, "", map[string]string{"GBP": "£", "USD": "US$"}},
	{"de-DE", ",", ".", "-", 4, noBreak + "%", false, noBreak, nil},
	{"de-CH", ".", "’", "-", 4, "%", true, noBreak, nil},
	{"fr-FR", ",", narrow, "-", 4, narrow + "%", false, noBreak, map[string]string{"USD": "$US", "GBP": "£GB", "JPY": "JPY"}},
	{"es-ES", ",", ".", "-", 5, noBreak + "%", false, noBreak, map[string]string{"GBP": "GBP", "JPY": "JPY", "USD": "US$"}},
	{"it-IT", ",", ".", "-", 4, "%", false, noBreak, map[string]string{"USD": "USD", "GBP": "£", "JPY": "JPY"}},
	{"nl-NL", ",", ".", "-", 4, "%", true, noBreak, map[string]string{"USD": "US$"}},
	{"pt-BR", ",", ".", "-", 4, "%", true, noBreak, map[string]string{"USD": "US$"}},
	{"pl-PL", ",", noBreak, "-", 5, "%", false, noBreak, map[string]string{"PLN": "zł", "USD": "USD", "GBP": "GBP", "JPY": "JPY"}},
	{"sv-SE", ",", noBreak, "−", 4, noBreak + "%", false, noBreak, map[string]string{"SEK": "kr", "USD": "US$"}},
	{"ja-JP", ".", ",", "-", 4, "%", true, "", map[string]string{"JPY": "￥", "USD": "$", "CNY": "元"}},
	{"zh-CN", ".", ",", "-", 4, "%", true, "", map[string]string{"CNY": "¥", "USD": "US$", "JPY": "JP¥"}},
}

// findLocale returns the locale with a name, or the first one of a language.
func findLocale(name string) (locale, bool) {
	for _, l := range locales {
		if strings.EqualFold(l.name, name) {
			return l, true
		}
	}
	for _, l := range locales {
		if language, _, _ := strings.Cut(l.name, "-"); strings.EqualFold(language, name) {
			return l, true
		}
	}
	return locale{}, false
}

func (l locale) english() bool { return strings.HasPrefix(l.name, "en-") }

func localeNames() string {
	names := make([]string, len(locales))
	for i, l := range locales {
		names[i] = l.name
	}
	return strings.Join(names, ", ")
}

// written writes a number in the locale. The number is in the form of ECMAScript's toFixed.
func (l locale) written(fixed string) string {
	fixed, negative := strings.CutPrefix(fixed, "-")
	whole, fraction, _ := strings.Cut(fixed, ".")
	text := whole
	if len(whole) >= l.leastGrouped {
		text = grouped(whole, l.group)
	}
	if fraction != "" {
		text += l.decimal + fraction
	}
	if negative {
		text = l.minus + text
	}
	return text
}

func grouped(digits, separator string) string {
	first := len(digits) % 3
	groups := []string{}
	if first > 0 {
		groups = append(groups, digits[:first])
	}
	for i := first; i < len(digits); i += 3 {
		groups = append(groups, digits[i:i+3])
	}
	return strings.Join(groups, separator)
}

// symbols has the symbols that most locales use. Other currencies are written by their code.
var symbols = map[string]string{
	"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "INR": "₹", "CNY": "CN¥", "KRW": "₩", "BRL": "R$", "CAD": "CA$", "AUD": "A$", "MXN": "MX$", "NZD": "NZ$",
	"HKD": "HK$", "TWD": "NT$", "ILS": "₪", "VND": "₫", "PHP": "₱", "XAF": "FCFA", "XOF": "F\u202fCFA", "XPF": "CFPF", "XCD": "EC$",
}

// currencyDigits has the decimals of currencies that do not have two.
var currencyDigits = map[string]int{
	"BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0, "PYG": 0, "RWF": 0, "UGX": 0, "UYI": 0, "VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
	"BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3, "CLF": 4,
}

// currencies has the codes of ISO 4217 that are in use.
var currencies = strings.Fields(`AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLF CLP CNY COP CRC CUP CVE CZK
	DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD
	MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL
	THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYI UYU UZS VED VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG`)

// currency writes an amount with the symbol of its currency, or with the code.
func (l locale) currency(fixed, code string) string {
	symbol, known := l.own[code]
	if !known {
		symbol, known = symbols[code]
	}
	if !known {
		symbol = code
	}
	amount := l.written(fixed)
	amount, negative := strings.CutPrefix(amount, l.minus)
	between := l.between
	if symbol == code { // letters need a blank before or after digits
		between = noBreak
	}
	if l.symbolFirst {
		amount = symbol + between + amount
	} else {
		amount += between + symbol
	}
	if negative {
		return l.minus + amount
	}
	return amount
}
