// Verify checks receipts of a Keywarden ledger, unpacked archives of operations, and the receipts in unpacked archives of evidence. It has no code of
// Keywarden, only Go's standard library and checksum database. Receipts need this file alone. docs/LEDGER.md has the formats.
//
//	unzip -d FOLDER keywarden-operations.zip
//	GO111MODULE=off GOPATH=/usr/share/gocode go run *.go KEY FOLDER approval.tlog-proof
//
// Debian has both in golang-go and golang-golang-x-mod-dev. KEY is the public key that `keywarden ledger` prints. An exported file is compared if it comes after
// the receipt of its export. The exit code is 0 if everything is proven, 1 if something contradicts the ledger or has another form, and 3 if something is not
// proven.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

var (
	key        note.Verifier
	path, tree string // What is being checked, and the signed tree of its receipts.
	code       int    // 1: something is wrong. 2: something is not proven.
	// Of all files together: a ledger has one tree of each size, and one leaf at each place.
	trees, leaves = map[int64]string{}, map[int64]string{}
	exported      = map[string]bool{} // The SHA-256 of each exported file that was not named yet.
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: verify KEY FILE_OR_FOLDER...")
		os.Exit(2)
	}
	var err error
	if key, err = note.NewVerifier(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "%q is no public key of a ledger (%v); keywarden ledger prints it\n", os.Args[1], err)
		os.Exit(2)
	}
	for _, path = range os.Args[2:] {
		verify()
	}
	prove(len(exported) == 0, "the file of each export whose receipt is here: name it after the receipt")
	os.Exit([]int{0, 1, 3, 1}[code])
}

// No receipt has so many bytes.
const mostBytes = 64_000_000

// verify checks a file or folder. Whatever fails below ends here.
func verify() {
	defer func() {
		if failed := recover(); failed != nil {
			say("NOT PROVEN: %q", fmt.Sprint(failed))
			code |= 1
		}
	}()
	tree = ""
	if must(os.Stat(path)).IsDir() {
		verifyFolder(os.DirFS(path))
		return
	}
	file := must(os.Open(path))
	defer file.Close()
	digest := sha256.New()
	text := string(must(io.ReadAll(io.TeeReader(io.LimitReader(file, mostBytes), digest))))
	must(io.Copy(digest, file))
	name := fmt.Sprintf("%x", digest.Sum(nil))
	isArchive := strings.HasPrefix(text, "PK")
	if exported[name] {
		delete(exported, name)
		say("proven: it is the file that the report exported")
		prove(!isArchive, "its contents, which are compared only in the folder of its files")
		return
	}
	require(len(text) < mostBytes, "it is no receipt: it is too long")
	require(!isArchive, "it is an archive: unpack it, and name the folder, or name the receipt of its export before it")
	found := open(text)
	say("proven: %q of %q, recorded %q; it says that it was at %q: %.10000q %q", found.leaf["type"], found.leaf["subject"], found.leaf["recorded"],
		found.leaf["at"], found.content, found.personal)
	if found.leaf["type"] == "export.completed" {
		exported[found.row["sha256"].(string)] = true
	}
}

func say(format string, values ...any) { fmt.Println(path+":", fmt.Sprintf(format, values...)) }

// prove says that something is not proven unless a condition holds.
func prove(holds bool, format string, values ...any) {
	if !holds {
		say("not proven: "+format, values...)
		code |= 2
	}
}

func require(holds bool, format string, values ...any) {
	if !holds {
		panic(fmt.Sprintf(format, values...))
	}
}

func must[T any](value T, err error) T { require(err == nil, "%v", err); return value }

func hash(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// Go escapes these otherwise than RFC 8785. The first pair keeps an escaped backslash from beginning another one.
var canonical = strings.NewReplacer(`\\`, `\\`, `\u2028`, "\u2028", `\u2029`, "\u2029", `\u0008`, `\b`, `\u000c`, `\f`)

// read decodes JSON. Encoded again it must be the same text: so no member is there twice, unknown, missing, or written in another way.
func read[T any](text string) (value T) {
	var again bytes.Buffer
	encoder := json.NewEncoder(&again)
	encoder.SetEscapeHTML(false)
	isRead := json.Unmarshal([]byte(text), &value) == nil && encoder.Encode(value) == nil
	require(isRead && text != "null" && canonical.Replace(again.String()) == text+"\n", "a text of another form: %.80q", text)
	return value
}

var isSha256 = regexp.MustCompile(`^[0-9a-f]{64}$`)
var isColumn = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
var isInstant = regexp.MustCompile(`^[1-9]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$`)

func instant(text string) time.Time {
	require(isInstant.MatchString(text), "no time in UTC: %.80q", text)
	return must(time.Parse(time.RFC3339, text))
}

// event is an entry of the ledger: its leaf, its content as text and as members, personal data, and its place.
type event struct {
	leaf     map[string]string
	content  string
	row      map[string]any
	personal map[string]string
	index    int64
}

// open returns the event that a receipt proves.
func open(receipt string) event {
	head, checkpoint, _ := strings.Cut(receipt, "\n\n")
	lines := strings.Split(head, "\n")
	require(len(lines) > 2, "it is no receipt")
	shown := must(base64.StdEncoding.DecodeString(strings.TrimPrefix(lines[1], "extra ")))
	index := must(strconv.ParseInt(strings.TrimPrefix(lines[2], "index "), 10, 64))
	again := fmt.Sprintf("c2sp.org/tlog-proof@v1\nextra %s\nindex %d", base64.StdEncoding.EncodeToString(shown), index)
	var proof tlog.RecordProof
	for _, line := range lines[3:] {
		hash := must(tlog.ParseHash(line))
		proof, again = append(proof, hash), again+"\n"+hash.String()
	}
	require(head == again, "it is no receipt, or has another form")
	signed := must(note.Open([]byte(checkpoint), note.VerifierList(key)))
	signatures := append(signed.Sigs, signed.UnverifiedSigs...)
	for _, each := range signatures {
		must(base64.StdEncoding.Strict().DecodeString(each.Base64))
	}
	of := must(tlog.ParseTree([]byte(strings.Replace(signed.Text, key.Name(), "go.sum database tree", 1))))
	isPlain := signed.Text == fmt.Sprintf("%s\n%d\n%s\n", key.Name(), of.N, of.Hash) && of.N < 1<<53
	// Go passes over a second signature of a key, even over a wrong one.
	isPlain = isPlain && strings.Count(checkpoint, "\n— ") == len(signatures) && !strings.Contains(checkpoint, "\uFFFD")
	require(isPlain && len(checkpoint) < 100_000, "its checkpoint has another form")
	require(tree == "" || tree == signed.Text, "it has receipts of several trees")
	extra := read[struct {
		Content  string            `json:"content"`
		Leaf     string            `json:"leaf"`
		Personal map[string]string `json:"personal"`
		Salt     *string           `json:"salt"`
	}](string(shown))
	must(0, tlog.CheckRecord(proof, of.N, of.Hash, index, tlog.RecordHash([]byte(extra.Leaf))))
	// No actor is read as an empty one.
	leaf, row := read[map[string]string](strings.Replace(extra.Leaf, `{"actor":null,`, `{"actor":"",`, 1)), read[map[string]any](extra.Content)
	_, hasActor := leaf["actor"]
	require(len(leaf) == 7 && hasActor && leaf["v"] == "1" && leaf["type"] != "" && leaf["subject"] != "", "its leaf has another form")
	require(leaf["content"] == hash(extra.Content), "its content is not the one that was recorded")
	// A salt has a fixed length, so that the name and the value after it cannot move.
	require(extra.Personal != nil && (extra.Salt == nil || isSha256.MatchString(*extra.Salt)), "its salt has another form")
	count, isOfRow, isOfActor := 0, leaf["at"] == leaf["recorded"], strings.HasPrefix(extra.Leaf, `{"actor":null,`)
	for name, value := range row {
		hashed, _ := value.(map[string]any)
		salted, isSalted := hashed["salted"].(string)
		large, _ := hashed["sha256"].(string)
		text, isText := value.(string)
		hasForm := value == nil || isText || len(hashed) == 1 && isSha256.MatchString(salted+large)
		require(hasForm && isColumn.MatchString(name), "its %q has another form", name)
		isOfRow, isOfActor = isOfRow || isText && text == leaf["at"], isOfActor || isSalted && salted == leaf["actor"]
		person, isShown := extra.Personal[name]
		prove(isShown || !isSalted, "the %q of %q, which is hidden", name, leaf["subject"])
		if isShown {
			require(extra.Salt != nil && salted == hash(*extra.Salt+":"+name+":"+person), "its %q is not the one that was recorded", name)
			count++
		}
	}
	require(isOfRow && isOfActor && count == len(extra.Personal), "its time, its actor or its personal data is not of its row")
	late := instant(leaf["recorded"]).Sub(instant(leaf["at"]))
	require(time.Until(instant(leaf["recorded"])) < time.Hour, "it is of a time in the future")
	prove(late <= time.Hour && late >= -time.Hour, "the time %q of %q, recorded at %q", leaf["at"], leaf["subject"], leaf["recorded"])
	tree = signed.Text
	know(trees, of.N, tree)
	know(leaves, index, extra.Leaf)
	return event{leaf, extra.Content, row, extra.Personal, index}
}

func know(all map[int64]string, place int64, text string) {
	before, isKnown := all[place]
	require(!isKnown || before == text, "the key has signed two histories: a file before it has other events")
	all[place] = text
}
