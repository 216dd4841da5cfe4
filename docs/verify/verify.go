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
	code       int    // The exit code.
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
	os.Exit(code)
}

// No receipt has so many bytes.
const mostBytes = 64_000_000

// verify checks a file or folder. Whatever fails below ends here.
func verify() {
	defer func() {
		if failed := recover(); failed != nil {
			say("NOT PROVEN: %q", fmt.Sprint(failed))
			code = 1
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
	found.print()
	if name, isText := found.row["sha256"].(string); isText && found.Type == "export.completed" {
		exported[name] = true
	}
}

func say(format string, values ...any) { fmt.Println(path+":", fmt.Sprintf(format, values...)) }

// prove says that something is not proven unless a condition holds.
func prove(holds bool, format string, values ...any) {
	if !holds {
		say("not proven: "+format, values...)
		if code == 0 {
			code = 3
		}
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
var isInstant = regexp.MustCompile(`^[1-9]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,5}[1-9])?Z$`)

func instant(text string) time.Time {
	require(isInstant.MatchString(text), "no time in UTC: %.80q", text)
	return must(time.Parse(time.RFC3339, text))
}

// event is a leaf of the ledger, and what its receipt shows beside: the content as text and as members, personal data, and its place.
type event struct {
	Actor       *string `json:"actor"`
	At          string  `json:"at"`
	ContentHash string  `json:"content"`
	Recorded    string  `json:"recorded"`
	Subject     string  `json:"subject"`
	Type        string  `json:"type"`
	V           string  `json:"v"`
	content     string
	row         map[string]any
	personal    map[string]string
	index       int64
}

func (e event) print() {
	say("proven: %q of %q, recorded %q; it says that it was at %q: %.10000q %q", e.Type, e.Subject, e.Recorded, e.At, e.content, e.personal)
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
		sibling := must(tlog.ParseHash(line))
		proof, again = append(proof, sibling), again+"\n"+sibling.String()
	}
	require(head == again, "it is no receipt, or has another form")
	signed := signedTree(checkpoint)
	extra := read[struct {
		Content  string            `json:"content"`
		Leaf     string            `json:"leaf"`
		Personal map[string]string `json:"personal"`
		Salt     *string           `json:"salt"`
	}](string(shown))
	must(0, tlog.CheckRecord(proof, signed.N, signed.Hash, index, tlog.RecordHash([]byte(extra.Leaf))))
	know(leaves, index, extra.Leaf)
	e := read[event](extra.Leaf)
	e.content, e.row, e.personal, e.index = extra.Content, read[map[string]any](extra.Content), extra.Personal, index
	require(e.V == "1" && e.Type != "" && e.Subject != "", "its leaf has another form")
	require(e.ContentHash == hash(e.content), "its content is not the one that was recorded")
	// A salt has a fixed length, so that the name and the value after it cannot move.
	require(e.personal != nil && (extra.Salt == nil || isSha256.MatchString(*extra.Salt)), "its salt has another form")
	count, isOfRow, isOfActor := 0, e.At == e.Recorded, e.Actor == nil
	for name, value := range e.row {
		hashed, _ := value.(map[string]any)
		salted, isSalted := hashed["salted"].(string)
		large, _ := hashed["sha256"].(string)
		text, isText := value.(string)
		hasForm := value == nil || isText || len(hashed) == 1 && isSha256.MatchString(salted+large)
		require(hasForm && isColumn.MatchString(name), "its %q has another form", name)
		isOfRow, isOfActor = isOfRow || isText && text == e.At, isOfActor || isSalted && salted == *e.Actor
		person, isShown := e.personal[name]
		prove(isShown || !isSalted, "the %q of %q, which is hidden", name, e.Subject)
		if isShown {
			require(extra.Salt != nil && salted == hash(*extra.Salt+":"+name+":"+person), "its %q is not the one that was recorded", name)
			count++
		}
	}
	require(isOfRow && isOfActor && count == len(e.personal), "its time, its actor or its personal data is not of its row")
	at, recorded := instant(e.At), instant(e.Recorded)
	require(time.Until(recorded) < time.Hour, "it is of a time in the future")
	prove(recorded.Sub(at).Abs() <= time.Hour, "the time %q of %q, recorded at %q", e.At, e.Subject, e.Recorded)
	return e
}

// signedTree returns the tree of a checkpoint that the key has signed. All receipts of a file are of one tree.
func signedTree(checkpoint string) tlog.Tree {
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
	tree = signed.Text
	know(trees, of.N, tree)
	return of
}

func know(all map[int64]string, place int64, text string) {
	before, isKnown := all[place]
	require(!isKnown || before == text, "the key has signed two histories: a file before it has other events")
	all[place] = text
}
