package house_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const module = "github.com/adkreplay/adkreplay/"

// room is a package, or with /... all packages below it, with the packages that its files may
// import. Test files may import anything and are not checked.
type room struct {
	name string
	// ours are the rooms of this module that it may import, and others are third-party packages. It may
	// import all of the standard library, except for the bans.
	ours, others []string
	because      string
}

// rooms are the rooms of the project, from the lowest layer up: imports only go down.
// A package belongs to the first room that matches it.
var rooms = []room{
	{name: "adk/internal/bus", because: "a leaf of the engine"},
	{name: "adk/internal/fan", because: "a leaf of the engine"},
	{name: "internal/callers", because: "a leaf of the engine"},
	{name: "internal/canonical", because: "a leaf"},
	{name: "internal/unescaped", because: "a leaf"},
	{name: "internal/ordered", because: "a leaf"},
	{name: "adk/internal/jsontree", ours: []string{"internal/canonical"},
		because: "JSON is written canonically; but for that, a leaf"},
	{name: "adk/internal/yamltree", ours: []string{"adk/internal/jsontree"},
		others:  []string{"go.yaml.in/yaml/v3"}, // it knows YAML, and refuses alias bombs
		because: "trees are jsontree's; but for that, a leaf"},
	{name: "adk/artifact/internal/jsonindex", ours: []string{"internal/canonical", "adk/internal/jsontree"},
		because: "its values are jsontree's; but for that, a leaf"},
	{name: "adk/internal/pattern", because: "a leaf"},
	{name: "adk/artifact/internal/jsonpath", ours: []string{"adk/artifact/internal/jsonindex", "adk/internal/jsontree", "adk/internal/pattern"},
		because: "a path selects in a document, by patterns too; but for that, a leaf"},
	{name: "internal/headroom", because: "a leaf, which tests alone use"},
	{name: "internal/thorough", because: "a leaf, which tests alone use"},
	{name: "internal/patience", because: "a leaf, which tests alone use"},
	{name: "property/internal/subtests", ours: []string{"internal/shell"}, because: "it fails tests, and knows nothing of turns"},
	{name: "internal/allocs", ours: []string{"internal/race"}, because: "a leaf, which tests alone use"},
	{name: "internal/thorough", because: "tests ask it, and it asks the environment"},
	{name: "internal/draws", ours: []string{"internal/headroom", "internal/thorough"}, others: []string{"pgregory.net/rapid"}, // its flags
		because: "a leaf, which tests alone use"},
	{name: "adk/internal/errtree", because: "a leaf of the engine"},
	{name: "adk/internal/machine", others: []string{"github.com/google/uuid"}, // the default ids are UUIDs of version 7 (RUN-7)
		because: "a leaf of the engine"},
	{name: "internal/listening", ours: []string{"adk"}, because: "who hears all events of a run, for whatever purpose"},
	{name: "internal/digest", ours: []string{"internal/ordered"}, because: "a leaf of the engine"},
	{name: "adk/internal/handed", because: "a leaf of the engine"},
	{name: "adk/internal/pieces", because: "a leaf of the engine"},
	{name: "adk/internal/strandtime", because: "a leaf of the engine"},
	{name: "adk/internal/tally", because: "a leaf of the engine"},
	{name: "internal/jsonscan", because: "a leaf of the engine: JSON is walked, and nothing made of it"},
	{name: "adk/internal/unheld", ours: []string{"internal/canonical", "internal/jsonscan", "internal/unescaped"}, because: "a leaf of the engine"},
	{name: "replay/internal/align", because: "a leaf"},
	{name: "internal/beside", because: "a leaf: transports and replays know of each other by it alone"},
	{name: "internal/jsondiff", because: "a leaf"},
	{name: "internal/jsonpointer", because: "a leaf"},
	{name: "internal/near", others: []string{"github.com/agnivade/levenshtein"}, because: "a leaf"},
	{name: "internal/jsonfault", because: "a leaf: what is wrong with JSON is said in one way, whatever is read"},
	{name: "internal/mutant", ours: []string{"internal/thorough"}, because: "tests alone use it"},
	{name: "internal/plain", ours: []string{"internal/canonical"},
		because: "plain data is written canonically; but for that, a leaf"},
	{name: "internal/schema", ours: []string{"internal/jsonpointer", "internal/unescaped"}, others: []string{"github.com/google/jsonschema-go/jsonschema"}, // one schema validates arguments and describes them (TOL-2)
		because: "a leaf of the engine"},
	{name: "adk/internal/roundtrip", because: "a leaf"},
	{name: "adk/internal/toolform", ours: []string{"internal/jsonfault", "internal/schema", "internal/unescaped"}, because: "a leaf of the engine"},
	{name: "internal/httpform", ours: []string{"internal/canonical", "internal/jsonscan", "internal/unescaped"}, because: "but for how JSON is written and walked a leaf: who tells answers over HTTP and who breaks them know one form of them"},
	{name: "internal/ending", because: "a leaf: contexts that somebody ends"},
	{name: "internal/cues", because: "a leaf: what scripts play, and who leaves some of it out"},
	{name: "property/internal/oddtext", because: "a leaf: what is said and given that nobody thought of"},
	{name: "replay/internal/optional", because: "a leaf"},
	{name: "internal/reread", because: "a leaf of the engine: bytes of media, and who breaks their readers"},
	{name: "internal/shell", others: []string{"golang.org/x/mod/modfile"}, // which tools a module has
		because: "a leaf"},
	{name: "internal/codeplace", ours: []string{"adk"}, others: []string{"golang.org/x/mod/modfile"}, // which module a folder is of
		because: "it tells user code from the engine above it, and reads nothing else"},
	{name: "internal/forging", because: "a leaf: what says that a tool was forged, and what a mark says"},
	{name: "adk/internal/seampath", because: "a leaf of the engine"},
	{name: "internal/stash", ours: []string{"internal/digest", "internal/plain"}, because: "a leaf of the engine: trees of plain data"},
	{name: "adk/internal/fields", ours: []string{"internal/canonical", "internal/plain", "internal/stash"}, because: "a leaf of the engine: what is given to it"},
	{name: "internal/streamre", others: []string{"github.com/armon/go-radix"}, // which of many texts begins here
		because: "but for that, a leaf"},
	{name: "internal/soak", because: "a leaf, and a program for the tree alone"},
	{name: "adk/internal/timelimit", ours: []string{"adk/internal/errtree"}, because: "a leaf of the engine"},
	{name: "adk/internal/tokens", others: []string{"github.com/pkoukk/tiktoken-go-loader"}, // the ranks of the encodings, without a network (PRM-1)
		because: "a leaf of the engine"},
	{name: "internal/turntext", ours: []string{"adk"}, because: "a leaf: words of turns that are data"},
	{name: "internal/wholefile", because: "a leaf"},
	{name: "internal/watchdog", ours: []string{"internal/codeplace"}, because: "it looks at goroutines, whoever runs them, and says where in code they are"},
	{name: "property/internal/strays", ours: []string{"internal/safetext", "internal/watchdog"}, because: "goroutines that are left behind, whoever left them"},
	{name: "adk", ours: []string{"adk/internal/bus", "internal/callers", "internal/canonical", "internal/digest", "adk/internal/errtree", "adk/internal/fan", "adk/internal/fields", "adk/internal/handed", "adk/internal/machine", "internal/jsonfault", "internal/ordered", "adk/internal/pieces", "internal/plain", "internal/reread", "adk/internal/roundtrip",
		"internal/schema", "adk/internal/seampath", "internal/stash", "adk/internal/strandtime", "adk/internal/tally", "adk/internal/timelimit", "adk/internal/tokens", "adk/internal/toolform", "adk/internal/unheld"},
		because: "who runs turns carries all that it imports, and no tool for tests"},
	{name: "adk/artifact", ours: []string{"adk", "internal/forging", "internal/jsonfault", "adk/artifact/internal/jsonindex", "adk/artifact/internal/jsonpath", "adk/internal/jsontree", "adk/internal/pattern", "internal/reread", "internal/storages", "adk/internal/yamltree"},
		others: []string{ // Markdown, as CommonMark and GitHub have it
			"github.com/yuin/goldmark", "github.com/yuin/goldmark/ast", "github.com/yuin/goldmark/extension", "github.com/yuin/goldmark/extension/ast",
			"github.com/yuin/goldmark/renderer/html", "github.com/yuin/goldmark/text",
		},
		because: "bodies and questions rest on the engine alone; nobody who runs turns has to carry them"},
	{name: "adk/envelope", ours: []string{"adk", "internal/canonical"},
		because: "tags around texts, pure: the one home of nonces and tiers"},
	{name: "adk/prompt", ours: []string{"adk", "adk/artifact", "adk/envelope", "internal/canonical"},
		because: "it puts together what is shown, and asks no model; artifacts are shown as handles"},
	{name: "adk/budget", ours: []string{"adk", "adk/prompt", "internal/canonical"},
		because: "it counts what is shown, and sheds what a turn holds"},
	{name: "adk/wrap", ours: []string{"adk", "internal/storages"}, because: "a few lines on the engine, for who has an agent already"},
	{name: "adk/chat", ours: []string{"adk", "adk/adkhttp", "adk/artifact", "adk/budget", "adk/prompt", "internal/callers", "internal/canonical", "internal/httpform", "internal/plain"},
		because: "it asks a model of what the rooms below it show and count"},
	{name: "adk/budget/sentencepiece", ours: []string{"adk", "adk/budget"},
		others:  []string{"github.com/eliben/go-sentencepiece"}, // vocabularies of SentencePiece
		because: "a module of its own: who counts otherwise carries none of it"},
	{name: "adk/tools/internal/trial", ours: []string{"adk", "fakes"}, because: "tests of the batteries alone use it"},
	{name: "adk/tools/texts", ours: []string{"adk", "adk/tools/internal/spec", "adk/internal/jsontree", "adk/internal/pattern", "adk/internal/yamltree"},
		others: []string{
			"github.com/agnivade/levenshtein", // edit distances
			"golang.org/x/text/cases",         // large and small letters, of which some are two
			"golang.org/x/text/language",      // which cases wants to be told that there is none
			"golang.org/x/text/unicode/norm",  // the forms of Unicode
		},
		because: "a battery is a leaf on the engine"},
	{name: "adk/tools/...", ours: []string{"adk", "adk/artifact", "adk/tools/...", "internal/canonical", "adk/internal/jsontree"},
		because: "batteries rest on the engine and on artifacts"},
	{name: "adk/storage", ours: []string{"adk", "adk/artifact", "internal/plain", "internal/stash", "internal/storages"},
		others:  []string{"github.com/hashicorp/golang-lru/v2"}, // records that were read lately
		because: "it makes obligations of rows, whoever keeps them; media get their readers of a spool"},
	{name: "adk/session", ours: []string{"adk", "adk/internal/unheld", "adk/storage", "internal/ordered", "internal/schema", "internal/stash", "internal/storages", "internal/unescaped"},
		because: "it runs turns and knows what a storage would write, whoever keeps the sessions"},
	{name: "adk/storage/internal/sessionrows", ours: []string{"adk", "adk/session", "adk/storage"},
		because: "the rules of sessions stand once, over tables that keep rows"},
	{name: "adk/storage/memory", ours: []string{"adk", "adk/session", "adk/storage", "internal/ordered", "adk/storage/internal/sessionrows"},
		because: "rows in memory, and sessions beside them"},
	{name: "adk/storage/files", ours: []string{"adk", "adk/session", "adk/storage", "internal/ordered", "adk/storage/internal/sessionrows", "internal/unescaped"},
		others:  []string{"github.com/gofrs/flock"}, // one process has a directory, on any system
		because: "rows in files, and sessions beside them"},
	{name: "adk/storage/database", ours: []string{"adk", "adk/artifact", "adk/session", "adk/storage", "adk/storage/internal/sessionrows", "internal/unescaped"}, // whose spool it is
		others:  []string{"github.com/pressly/goose/v3", "github.com/pressly/goose/v3/database"}, // migrations
		because: "rows in a database, and sessions beside them, whoever's driver opened it"},
	{name: "adk/storage/sqlite", ours: []string{"adk/storage/database"},
		others: []string{
			"github.com/gofrs/flock",                       // one process migrates
			"modernc.org/sqlite", "modernc.org/sqlite/lib", // the driver, without a C compiler
		},
		because: "who wants SQLite compiles it, and nobody else does"},
	{name: "adk/storage/postgres", ours: []string{"adk/storage/database"},
		others: []string{
			"github.com/jackc/pgx/v5", "github.com/jackc/pgx/v5/pgconn", "github.com/jackc/pgx/v5/pgconn/ctxwatch", "github.com/jackc/pgx/v5/stdlib", // the driver
		},
		because: "who wants Postgres compiles its driver, and nobody else does"},
	{name: "adk/storage/blob", ours: []string{"adk", "adk/artifact"},
		others: []string{
			"github.com/google/uuid",                   // names that no other process gives
			"gocloud.dev/blob", "gocloud.dev/gcerrors", // S3, Google, Azure, files and memory behind one type
		},
		because: "a module of its own: who keeps bodies elsewhere carries no cloud's library"},
	{name: "adk/adkhttp", ours: []string{"adk", "internal/beside", "internal/canonical", "adk/internal/handed", "internal/httpform", "adk/internal/unheld"},
		because: "what a client asks is told, whoever records it"},
	{name: "adk/...", ours: []string{"adk", "internal/canonical", "internal/ordered", "internal/plain"},
		because: "it rests on the engine alone, and the engine does not need it"},
	{name: "fakes/internal/saying", because: "a leaf: it writes what a scripted model says in the forms of APIs"},
	{name: "fakes", ours: []string{"adk", "adk/artifact", "fakes/internal/saying", "internal/cues", "internal/httpform", "internal/jsondiff", "internal/jsonfault", "internal/storages", "internal/watchdog"}, // whose spools it checks, and whose words it records
		because: "tests use it without traces, and tests of traces use it"},
	{name: "internal/safetext", ours: []string{"adk", "internal/canonical", "internal/plain"},
		because: "it makes any text fit to print, and knows no trace"},
	{name: "internal/wire", ours: []string{"adk", "internal/canonical", "internal/jsonpointer", "internal/jsonscan", "internal/plain"},
		because: "a crossing and its line, and nothing of the others around it"},
	{name: "replay/trace", ours: []string{"adk", "replay/internal/optional", "internal/safetext", "internal/state", "internal/wire"},
		others:  []string{"github.com/klauspost/compress/zstd"}, // compressed traces
		because: "whoever reads a file needs nothing that runs it"},
	{name: "internal/state", ours: []string{"adk", "internal/canonical", "internal/digest", "internal/ordered", "internal/plain", "internal/safetext", "internal/stash"},
		because: "it follows crossings, whatever file they stand in"},
	{name: "internal/calls", ours: []string{"adk", "internal/canonical", "internal/plain", "internal/safetext", "internal/state", "internal/wire", "replay/trace"},
		because: "it links a run, and compares and says nothing of it"},
	{name: "internal/compare", ours: []string{"adk", "internal/calls", "internal/canonical", "internal/jsondiff", "internal/plain", "internal/safetext", "internal/state", "internal/wire", "replay/trace"},
		because: "it says what differs, and not what follows from it"},
	{name: "internal/describe", ours: []string{"adk", "internal/calls", "internal/httpform", "internal/safetext", "internal/state", "internal/wire"},
		because: "it says crossings in words, for whoever shows them"},
	{name: "internal/storages", ours: []string{"adk"}, because: "it names every collection, and knows no code that uses them"},
	{name: "internal/perform", ours: []string{"adk", "internal/storages"}, because: "it makes an operation, whoever says which"},
	{name: "internal/stub", ours: []string{"adk", "internal/calls", "internal/ending", "internal/listening", "internal/perform", "internal/plain", "internal/safetext", "internal/state", "internal/storages", "internal/wire", "replay/trace"},
		because: "it performs what was recorded, and does not know why it is asked"},
	{name: "internal/likeness", ours: []string{"adk"}, because: "it holds two requests against each other, and knows no run"},
	{name: "replay/internal/makers", ours: []string{"adk", "internal/calls", "internal/safetext", "internal/state", "internal/wire"},
		because: "it says whose a crossing is, and knows no replay"},
	{name: "replay/internal/outlet", ours: []string{"adk"}, because: "it writes bytes, whatever they say"},
	{name: "replay/internal/rename", ours: []string{"adk", "internal/calls", "internal/canonical", "internal/compare", "internal/likeness", "internal/state", "internal/wire", "replay/trace"},
		because: "it knows which ids stand for which, and not why a run was made again"},
	{name: "replay/internal/tape", ours: []string{"adk", "internal/wire", "replay/trace"},
		because: "it keeps a run, whatever that is held against"},
	{name: "replay/internal/encoded", ours: []string{"internal/wire"}, because: "it reads texts, and does not know whose"},
	{name: "replay/internal/ownsecrets", ours: []string{"adk", "internal/calls", "internal/compare", "internal/redacting", "internal/wire", "replay/redact"}, because: "it pairs texts of two runs, and knows of no run that is made"},
	{name: "replay/internal/asks", ours: []string{"adk", "internal/calls", "internal/wire", "internal/likeness", "replay/internal/encoded", "replay/internal/ownsecrets", "replay/internal/rename"}, because: "it finds an answer, and gives it to nobody"},
	{name: "replay/internal/moved", ours: []string{"adk", "internal/calls", "internal/wire", "replay/internal/align"}, because: "it puts steps in an order, and compares nothing of them"},
	{name: "replay/internal/siblings", ours: []string{"adk", "internal/calls", "internal/compare", "internal/describe", "internal/wire"}, because: "it reads two runs that are over"},
	{name: "replay/internal/subjects", ours: []string{"adk", "internal/calls", "internal/compare", "internal/wire"}, because: "it names steps, and pairs none"},
	{name: "replay/internal/varying", ours: []string{"adk", "internal/calls", "internal/wire", "replay", "replay/trace"}, because: "it runs a turn again, and does not know what is accepted"},
	{name: "replay/internal/matching", ours: []string{"adk", "internal/calls", "internal/codeplace", "internal/compare", "internal/wire", "replay/internal/siblings", "replay/internal/subjects"}, because: "it pairs steps, and does not say what differs in them"},
	{name: "replay/internal/nearest", ours: []string{"adk", "internal/calls", "internal/compare", "internal/likeness", "internal/wire"}, because: "it reads two runs that are over"},
	{name: "replay/internal/unfed", ours: []string{"adk", "internal/calls", "internal/compare", "internal/wire"}, because: "it reads two runs that are over"},
	{name: "replay/internal/streams", ours: []string{"internal/calls", "internal/wire", "replay/internal/subjects"}, because: "it reads steps, and compares no runs"},
	{name: "replay/internal/ties", ours: []string{"adk", "internal/calls", "internal/likeness", "internal/wire"}, because: "it reads a run that is over"},
	{name: "replay/internal/withhold", ours: []string{"adk", "internal/forging", "internal/redacting", "internal/state", "internal/wire", "replay/internal/encoded", "replay/internal/ownsecrets", "replay/redact", "replay/trace"}, because: "it knows the texts of two runs, and not how they are made"},
	{name: "replay/internal/atrest", ours: []string{"adk", "internal/state", "internal/watchdog"}, because: "it holds answers back, and knows neither who asks nor what came before"},
	{name: "replay/internal/unmade", ours: []string{"adk", "internal/calls", "internal/wire"}, because: "it knows a recording, and of strands how far they are"},
	{name: "replay/internal/circle", ours: []string{"internal/codeplace"}, because: "numbers that lead to numbers, and the words for it"},
	{name: "replay/internal/written", ours: []string{"adk", "internal/codeplace", "internal/compare", "internal/shell"}, others: []string{"golang.org/x/mod/modfile"}, // whose source it is
		because: "it reads the source of a program, and runs nothing"},
	{name: "replay/transcript", ours: []string{"adk", "replay/internal/align", "internal/canonical", "internal/compare", "internal/describe", "internal/httpform", "internal/jsondiff", "internal/modelapi", "internal/plain", "internal/safetext", "internal/state", "internal/unescaped", "internal/wire", "replay/trace"},
		because: "reading a run needs no engine that runs it again"},
	{name: "replay/redact", because: "a leaf: rules are data"},
	{name: "internal/redacting", ours: []string{"adk", "internal/calls", "internal/canonical", "internal/forging", "internal/httpform", "internal/jsonpointer", "internal/state", "internal/streamre", "internal/wire", "replay/redact", "replay/trace"},
		others:  []string{"github.com/hashicorp/golang-lru/v2"}, // the latest conversations
		because: "secrets are taken out while a run is recorded, before anybody reads it"},
	{name: "replay/diff", ours: []string{"adk", "replay/internal/align", "internal/calls", "internal/canonical", "internal/compare", "internal/describe", "internal/digest", "internal/jsondiff", "replay/internal/optional", "internal/plain", "internal/safetext", "internal/state", "internal/unescaped", "internal/wire", "replay/trace"},
		because: "two traces are aligned without running either"},
	{name: "replay/golden", ours: []string{"adk", "adk/session", "fakes", "replay/internal/optional", "replay/internal/varying", "internal/page", "internal/safetext", "internal/shell", "internal/watchdog", "internal/wholefile", "internal/wire", "replay", "replay/corpus", "replay/redact", "replay/sessions", "replay/trace", "replay/transcript"},
		others:  []string{"github.com/sebdah/goldie/v2"}, // the golden files
		because: "the leaf that go test alone imports, so that goldie's flags reach nobody else"},
	{name: "replay/internal/causes", ours: []string{"adk", "internal/calls", "internal/compare", "internal/wire", "replay/internal/encoded", "replay/internal/rename"}},
	{name: "replay/internal/lines", ours: []string{"adk"}},
	{name: "replay/internal/serial", because: "a leaf: a place that one has at a time"},
	{name: "replay/internal/again", ours: []string{"adk", "replay/trace"}, because: "a door, which replay opens for packages beside it"},
	{name: "replay/internal/bycause", ours: []string{"adk", "internal/beside", "internal/calls", "internal/canonical", "internal/codeplace", "internal/forging", "internal/safetext", "internal/state", "internal/storages", "internal/stub", "internal/watchdog", "internal/wire", "replay/internal/asks", "replay/internal/atrest", "replay/internal/causes", "replay/internal/circle", "replay/internal/lines", "replay/internal/ownsecrets", "replay/internal/rename", "replay/internal/unmade", "replay/redact"},
		because: "it makes a run, and holds it against nothing"},
	{name: "replay", ours: []string{"adk", "replay/internal/asks", "internal/beside", "internal/calls", "internal/codeplace", "internal/compare", "internal/describe", "replay/internal/makers", "replay/internal/matching", "replay/internal/moved", "replay/internal/nearest", "replay/internal/optional", "replay/internal/outlet", "internal/likeness", "internal/plain", "internal/redacting", "replay/internal/rename", "replay/internal/serial", "replay/internal/siblings", "replay/internal/streams", "internal/safetext", "internal/shell", "internal/state", "internal/storages", "internal/stub", "replay/internal/tape", "replay/internal/ties", "replay/internal/unfed", "internal/watchdog", "internal/wire", "replay/internal/again", "replay/internal/withhold", "replay/internal/written", "replay/redact", "replay/trace", "replay/internal/bycause"},
		because: "programs record in production, without fakes"},
	{name: "fakes/cassette", ours: []string{"adk", "adk/adkhttp", "fakes", "internal/httpform", "internal/jsonfault", "internal/safetext", "internal/wire", "replay", "replay/trace"},
		others:  []string{"go.yaml.in/yaml/v3"}, // recordings of others in YAML
		because: "who scripts a provider carries no importer of recordings, and traces are one more kind of them"},
	{name: "replay/sessions", ours: []string{"adk", "adk/session", "replay/internal/optional", "replay/internal/outlet", "replay/internal/varying", "internal/jsonfault", "internal/redacting", "internal/safetext", "internal/state", "internal/wire", "replay", "replay/corpus", "replay/redact", "replay/trace", "replay/transcript"},
		because: "it plays what hosts of sessions did, turn by turn, by the one door that replay has for it"},
	{name: "replay/whatif", ours: []string{"adk", "internal/calls", "internal/compare", "internal/describe", "replay/internal/optional", "internal/plain", "internal/safetext", "internal/stub", "internal/wire",
		"replay", "replay/diff", "replay/internal/again", "replay/trace"},
		because: "it runs a turn again by the one door that replay has for it"},
	{name: "replay/corpus", ours: []string{"adk", "replay/internal/align", "internal/codeplace", "internal/compare", "internal/describe", "internal/httpform", "internal/jsondiff", "internal/jsonfault", "replay/internal/optional", "replay/internal/varying", "replay/internal/written", "internal/safetext", "internal/shell", "internal/stub", "internal/wholefile", "internal/wire", "replay", "replay/trace"},
		because: "it groups what replays report, and runs none itself"},
	{name: "internal/page", ours: []string{"adk", "adk/session", "internal/safetext", "internal/wholefile", "internal/wire", "replay/corpus", "replay/sessions", "replay/trace", "replay/transcript"},
		because: "it copies lines and reports into a file; its scripts read them"},
	{name: "internal/eachtrace", ours: []string{"adk", "replay/corpus", "replay/trace"}, because: "many traces are read in one way, whoever looks at their crossings"},
	{name: "internal/modelapi", ours: []string{"adk", "internal/httpform", "internal/jsondiff", "internal/unescaped"}, because: "it reads what models are asked and answer, whoever tells it"},
	{name: "internal/spans", ours: []string{"adk", "internal/canonical", "internal/httpform", "internal/modelapi", "internal/unescaped", "internal/wire"},
		because: "it makes spans of crossings, live or not, and knows no tracer and no file"},
	{name: "internal/otlp", ours: []string{"adk", "internal/jsonfault", "internal/safetext", "internal/spans", "internal/unescaped", "replay/trace"},
		because: "it writes and reads spans as data"},
	{name: "replay/otel", ours: []string{"adk", "internal/spans"},
		others:  []string{"go.opentelemetry.io/otel", "go.opentelemetry.io/otel/attribute", "go.opentelemetry.io/otel/codes", "go.opentelemetry.io/otel/log", "go.opentelemetry.io/otel/trace"}, // the user's tracer and logger
		because: "a module of its own: who tells no spans carries no OpenTelemetry"},
	{name: "cmd/adkreplay/internal/distil", ours: []string{"adk", "internal/describe", "internal/eachtrace", "internal/httpform", "internal/modelapi", "internal/safetext", "internal/state", "internal/wire", "replay/corpus", "replay/trace"},
		because: "it looks at what traces show, and runs none"},
	{name: "internal/stats", ours: []string{"adk", "internal/canonical", "internal/describe", "internal/eachtrace", "internal/jsonfault", "internal/modelapi", "internal/safetext", "internal/state", "internal/wire", "replay/corpus", "replay/trace"},
		because: "it counts what is in traces, and runs none"},
	{name: "cmd/adkreplay/internal/review", ours: []string{"internal/safetext"},
		because: "it talks with a person, and knows no file"},
	{name: "scenarios", ours: []string{"adk", "adk/adkhttp", "adk/artifact", "adk/session", "adk/storage", "adk/storage/memory", "adk/tools/numbers", "fakes"},
		because: "a scenario says what happens, and not what is made of it"},
	{name: "fixtures", because: "it holds files, which any version of the code can read"},
	{name: "property", ours: []string{"adk", "internal/calls", "internal/canonical", "property/internal/chatfault", "internal/forging", "internal/httpform", "internal/modelapi", "internal/safetext", "internal/state", "internal/wire", "replay/redact", "replay/trace", "replay/transcript"},
		because: "an invariant is a function over a trace, whoever recorded it"},
	{name: "property/turn", ours: []string{"adk", "fakes", "internal/httpform", "internal/listening", "internal/near", "internal/perform", "internal/plain", "property/internal/steady", "internal/storages", "internal/turntext", "internal/wire", "property", "replay", "replay/trace"},
		because: "a turn is data: it is run and checked, whoever drew it, broke it or wrote it down"},
	{name: "property/explore", ours: []string{"adk", "fakes", "internal/beside", "internal/callers", "property/internal/chatfault", "internal/codeplace", "property/internal/columns", "internal/cues", "internal/ending", "property/internal/footprint", "property/internal/guarded", "internal/forging", "internal/httpform", "internal/likeness", "property/internal/oddtext", "property/internal/oracle", "internal/plain", "internal/race", "internal/reread", "internal/safetext", "property/internal/steady", "internal/storages", "property/internal/strays", "property/internal/subtests", "internal/unescaped", "property/internal/wanted", "internal/watchdog", "internal/wire", "property", "property/turn", "replay", "replay/corpus", "replay/sessions", "replay/trace"},
		because: "it breaks what it is given, and draws nothing"},
	{name: "property/sessions", ours: []string{"adk", "adk/session", "adk/storage", "fakes", "internal/compare", "internal/safetext", "internal/storages", "property/internal/guarded", "property/internal/subtests", "property/internal/wanted", "internal/watchdog", "property", "property/turn", "replay", "replay/sessions"},
		because: "it breaks what runs turns, and has no part in how a turn is broken but its words"},
	{name: "property/shrink", ours: []string{"adk", "fakes", "internal/safetext", "internal/samples", "internal/turntext", "internal/wire", "property", "property/turn", "replay/trace", "replay/transcript"},
		because: "it makes a turn smaller, whoever found it"},
	{name: "property/gen", ours: []string{"adk", "internal/samples", "property/explore", "property/shrink", "property/turn", "replay/trace"},
		others:  []string{"pgregory.net/rapid"}, // the generators
		because: "who draws turns explores and shrinks them too; nobody else needs rapid"},
	{name: "internal/model", ours: []string{"adk", "internal/samples", "internal/state", "internal/turntext", "internal/wire", "property/turn"},
		because: "the dumb twin of the engine, which runs turns by the contract alone"},
	{name: "internal/samples", ours: []string{"adk", "fakes"}, because: "a leaf: records and tools to draw from"},
	{name: "property/internal/chatfault", ours: []string{"adk", "internal/httpform", "internal/jsondiff", "internal/modelapi", "internal/unescaped"}, because: "what a model answers, broken: it knows of no run"},
	{name: "property/internal/columns", ours: []string{"adk", "internal/safetext", "property/internal/steady"}, because: "it shows strands beside each other, and runs none"},
	{name: "property/internal/wanted", ours: []string{"adk", "internal/httpform", "internal/turntext", "internal/unescaped"}, because: "what somebody is called for, and which calls are for the same: it knows of no run"},
	{name: "property/internal/oracle", ours: []string{"adk", "internal/codeplace", "internal/compare", "internal/httpform", "internal/jsondiff", "internal/likeness", "internal/safetext", "internal/unescaped", "internal/watchdog", "internal/wire", "property", "property/internal/chatfault", "property/internal/wanted", "property/turn"}, because: "what is wrong with a run whatever the agent is for: it reads runs, and makes none"},
	{name: "property/internal/footprint", ours: []string{"adk"}, because: "what a step touched, by its crossings: it knows of no order"},
	{name: "property/internal/guarded", ours: []string{"adk"}, because: "it stands around user code, and does not know what for"},
	{name: "property/internal/steady", ours: []string{"adk", "internal/compare", "internal/describe", "internal/state"}, because: "it holds a run against another, and runs none"},
	{name: "internal/tracetest", ours: []string{"adk", "fixtures", "internal/canonical", "internal/compare", "internal/draws", "internal/plain", "internal/redacting", "internal/storages", "internal/thorough", "internal/wire", "replay/redact", "replay/trace"},
		others: []string{"github.com/google/go-cmp/cmp", "github.com/stretchr/testify/assert",
			"github.com/stretchr/testify/require", "pgregory.net/rapid"}, // it is a part of tests
		because: "tests alone use it, those of the rooms below replay too"},
	{name: "internal/large", ours: []string{"adk", "fakes", "replay"}, because: "it makes large traces, whoever measures what they cost"},
	{name: "internal/costs", ours: []string{"internal/large", "replay", "replay/trace"}, because: "a program for the tree alone"},
	{name: "internal/livetest", ours: []string{"adk", "adk/adkhttp", "fakes", "internal/tracetest", "replay", "replay/corpus", "replay/trace"},
		others:  []string{"github.com/stretchr/testify/require"}, // it is a part of tests
		because: "tests alone use it"},
	{name: "internal/storagetest", ours: []string{"adk", "adk/session", "adk/storage", "adk/storage/database", "fakes", "internal/draws", "internal/samples", "internal/storages"},
		others:  []string{"pgregory.net/rapid", "github.com/stretchr/testify/assert", "github.com/stretchr/testify/require"}, // it is a part of tests
		because: "tests alone use it"},
	{name: "internal/postgrestest", ours: []string{"internal/patience"},
		others:  []string{"github.com/jackc/pgx/v5/stdlib", "github.com/stretchr/testify/require"}, // it is a part of tests
		because: "tests alone use it"},
	{name: "internal/turntest", ours: []string{"..."},
		others:  []string{"pgregory.net/rapid", "github.com/stretchr/testify/require"}, // it is a part of tests
		because: "tests alone use it"},
	{name: "example", ours: []string{"adk", "adk/chat"},
		others:  []string{"github.com/google/jsonschema-go/jsonschema"}, // a schema made of a Go struct, and changed
		because: "an agent in production rests on the engine and its executor; its tests may use the rest"},
	{name: "example/grounded", ours: []string{"adk"},
		because: "as of the example"},
	{name: "example/catalogue", ours: []string{"adk", "adk/artifact", "adk/chat"}, because: "an agent to copy: it names what it uses"},
	{name: "example/chat", ours: []string{"adk", "adk/artifact", "adk/chat", "adk/session", "adk/storage", "adk/storage/database", "adk/storage/sqlite", "replay/sessions"},
		others:  []string{"golang.org/x/term"}, // whether somebody types the lines
		because: "a command to copy: it names what it is made of, and records itself"},
	{name: "example/guide", ours: []string{"adk"},
		others:  []string{"github.com/modelcontextprotocol/go-sdk/mcp"}, // what an MCP server is to a program
		because: "as of the example"},
	{name: "cmd/...", ours: []string{"..."},
		others: []string{"github.com/spf13/cobra", // the flags
			"github.com/google/jsonschema-go/jsonschema", // the schemas of what it prints, made of the types that it prints
			"golang.org/x/term"},                         // whether there is a terminal, and how wide
		because: "it decides nothing, and so may know everything"},
}

// ban forbids a package in rooms where importing it would do harm.
type ban struct {
	path    string
	in      []string
	except  []string
	because string
}

var bans = []ban{
	{path: "modernc.org/sqlite", in: []string{"..."}, except: []string{"adk/storage/sqlite"}, because: "a driver is for who wants that database"},
	{path: "github.com/jackc/pgx/v5/stdlib", in: []string{"..."}, except: []string{"adk/storage/postgres", "internal/postgrestest"}, because: "a driver is for who wants that database"},
	{path: module + "adk/storage/sqlite", in: []string{"..."}, except: []string{"example/chat"}, because: "a driver is for who wants that database: programs choose it"},
	{path: module + "adk/storage/postgres", in: []string{"..."}, because: "a driver is for who wants that database: programs choose it"},
	{path: "testing", in: []string{"..."}, except: []string{"internal/thorough", "internal/draws", "replay/golden", "property", "internal/allocs", "internal/turntest", "internal/tracetest", "internal/livetest"},
		because: "a program that records turns is not a test; helpers for tests take the smallest interface that serves"},
	{path: "flag", in: []string{"adk", "adk/...", "fakes", "replay/...", "scenarios", "internal/...", "property/internal/..."}, except: []string{"internal/draws", "internal/turntest", "replay/golden"},
		because: "who imports this must not get flags"},
	{path: "net/http", in: []string{"adk", "adk/internal/...", "replay/...", "internal/...", "property/internal/..."}, except: []string{"internal/livetest"},
		because: "the engine talks to nobody; user code does, and agents for tests are that"},
	{path: "net/http/httptest", in: []string{"..."},
		because: "its import registers a flag in every program"},
	{path: "math/rand", in: []string{"..."},
		because: "what is drawn from it is another on every run; math/rand/v2 takes a seed of its own"},
	{path: "math/rand/v2", in: []string{"adk", "adk/...", "replay/...", "internal/...", "property/internal/..."}, except: []string{"internal/soak"},
		because: "ids come from the config (DET-1)"},
	{path: "log", in: []string{"adk", "adk/...", "fakes", "replay/...", "internal/...", "property/internal/..."},
		because: "the engine tells its listeners and its probe; others return what went wrong"},
	{path: "unsafe", in: []string{"adk", "adk/...", "fakes", "replay/...", "scenarios", "cmd/..."}, except: []string{"adk/internal/jsontree"},
		because: "what it saves belongs into a leaf, behind tests"},
	{path: "github.com/spf13/cobra", in: []string{"..."}, except: []string{"cmd/..."},
		because: "flags, streams and exit codes are the command's"},
	{path: "github.com/klauspost/compress/zstd", in: []string{"..."}, except: []string{"replay/trace"},
		because: "who runs turns without recording them carries no compression"},
	{path: "github.com/sebdah/goldie/v2", in: []string{"..."}, except: []string{"replay/golden"},
		because: "it registers flags when imported"},
}

// STO-13: a program compiles a database driver only if it asks for it. The bans say so too.
func TestImports(t *testing.T) {
	for _, f := range productionFiles(t) {
		for _, path := range f.imports() {
			assert.Empty(t, wrongImport(f.dir, path), "%s imports %s", f.path, path)
		}
	}
}

// The table lists only imports that exist, and none that used to exist or may come, because an unneeded
// entry would let an import in unnoticed. Rooms that are not built yet may have entries in
// advance.
func TestNoImportIsAllowedInVain(t *testing.T) {
	used := map[string]bool{}
	furnished := map[string]bool{}
	for _, f := range productionFiles(t) {
		r, _ := roomOf(f.dir)
		furnished[r.name] = true
		for _, path := range f.imports() {
			used[r.name+" "+path] = true
		}
	}
	for _, r := range rooms {
		for _, path := range r.others {
			if furnished[r.name] {
				assert.True(t, used[r.name+" "+path], "%s does not import %s: strike it from the table", r.name, path)
			}
		}
	}
}

// wrongImport returns why a file in dir must not import a package, or nothing if it
// may.
func wrongImport(dir, path string) string {
	r, ok := roomOf(dir)
	if !ok {
		return "no room has the folder " + dir + ": give it a line in the table, and the house's plan"
	}
	for _, b := range bans {
		if b.path == path && matchesAny(b.in, dir) && !matchesAny(b.except, dir) {
			return b.because
		}
	}
	if below, isOurs := strings.CutPrefix(path, module); isOurs {
		return r.refusal(matchesAny(r.ours, below))
	}
	if isStandard(path) {
		return ""
	}
	return r.refusal(slices.Contains(r.others, path))
}

func (r room) refusal(allowed bool) string {
	if allowed {
		return ""
	}
	return fmt.Sprintf("%s: %s", r.name, r.because)
}

func roomOf(dir string) (room, bool) {
	at := slices.IndexFunc(rooms, func(r room) bool { return matches(r.name, dir) })
	if at < 0 {
		return room{}, false
	}
	return rooms[at], true
}

func matchesAny(patterns []string, dir string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, dir) })
}

// matches reports whether dir matches a pattern as in the go command: x/... is x and all below it.
func matches(pattern, dir string) bool {
	above, all := strings.CutSuffix(pattern, "...")
	if !all {
		return pattern == dir
	}
	return strings.HasPrefix(dir+"/", above)
}

// isStandard reports whether a path belongs to the standard library: its first element has no dot.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// The rules forbid the imports that they exist for.
func TestWrongImports(t *testing.T) {
	cases := []struct {
		dir, path string
		allowed   bool
	}{
		{"adk", "context", true},
		{"adk", module + "internal/ordered", true},
		{"adk/internal/machine", "github.com/google/uuid", true},
		{"adk", module + "replay", false},
		{"adk", module + "fakes", false},
		{"adk", module + "adk/artifacts", false},
		{"adk", "testing", false},
		{"adk", "flag", false},
		{"adk", "net/http", false},
		{"adk", "github.com/stretchr/testify/assert", false},
		{"adk/artifacts", module + "adk", true},
		{"adk/artifacts", module + "fakes", false},
		{"adk/artifacts", "net/http", true},
		{"fakes", "net/http", true},
		{"fakes", "testing", false},
		{"fakes", module + "replay", false},
		{"replay", module + "adk", true},
		{"replay", module + "fakes", false},
		{"replay", module + "replay/golden", false},
		{"replay", "github.com/sebdah/goldie/v2", false},
		{"replay/golden", "github.com/sebdah/goldie/v2", true},
		{"replay/golden", "testing", true},
		{"scenarios", module + "replay", false},
		{"fixtures", module + "adk", false},
		{"fixtures", "embed", true},
		{"property", module + "scenarios", false},
		{"property/gen", "pgregory.net/rapid", true},
		{"cmd/adkreplay", module + "scenarios", true},
		{"cmd/adkreplay", "github.com/spf13/cobra", true},
		{"cmd/adkreplay", "testing", false},
		{"internal/ordered", module + "adk", false},
		{"internal/ordered", "github.com/google/uuid", false},
		{"cmd/adkreplay", module + "adk/storage/sqlite", false},
		{"cmd/adkreplay", module + "adk/storage", true},
		{"adk/storage/database", "modernc.org/sqlite", false},
		{"adk/storage/sqlite", "modernc.org/sqlite", true},
		{"util", "strings", false}, // no such room
		{"adkx", module + "adk", false},
	}
	for _, c := range cases {
		assert.Equal(t, c.allowed, wrongImport(c.dir, c.path) == "", "%s imports %s: %s", c.dir, c.path, wrongImport(c.dir, c.path))
	}
}
