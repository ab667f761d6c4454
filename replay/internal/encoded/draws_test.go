package encoded_test

import _ "github.com/adkreplay/adkreplay/internal/draws" // the same on every run
