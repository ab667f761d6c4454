package distil

import _ "github.com/adkreplay/adkreplay/internal/draws" // the same on every run
