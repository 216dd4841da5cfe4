// Verify checks receipts of a Keywarden ledger, archives of operations with their seals, and the receipts in archives of evidence, without any code of
// Keywarden. It uses only Go's checksum database packages and the standard library. It reads archives from the folders into which they were unpacked, so that
// it checks the very files that are read. receipt.go alone checks a receipt; archive.go, seals.go and operations.go check archives.
//
//	unzip -d FOLDER keywarden-operations.zip
//	GO111MODULE=off GOPATH=/usr/share/gocode go run *.go KEY FOLDER approval.tlog-proof
//
// After the receipt of its export it also proves that any file is as it was exported: KEY export.tlog-proof keywarden-keys.csv.
//
// Debian has both in golang-go and golang-golang-x-mod-dev. KEY is the public key that `keywarden ledger` prints. The exit code is 0 if everything is proven,
// 1 if something is not, and 3 if a receipt hides personal data or was not made at the time of its row, a day has gaps or no seal, or tables are not compared.
// It reads no cosignatures, and no VERIFY.md.
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/mod/sumdb/note"
)

var key note.Verifier

// exported has the time of each export whose receipt was read, by the SHA-256 of its file; unused has those of which no file was read.
var exported, unused, hasOthers = map[string]string{}, map[string]bool{}, false

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: verify KEY FILE_OR_FOLDER...")
		os.Exit(2)
	}
	var err error
	if key, err = note.NewVerifier(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "the key is none:", err)
		os.Exit(2)
	}
	code := 0
	for _, file := range os.Args[2:] {
		said, isWhole, err := verify(file)
		if err != nil {
			said, code = fmt.Sprintf("NOT PROVEN: %q", err), 1
		} else if !isWhole && code == 0 {
			code = 3
		}
		fmt.Printf("%s: %s\n", file, said)
	}
	if len(unused) > 0 && hasOthers && code == 0 {
		fmt.Println("not proven: the file of an export, whose receipt is here, was not named")
		code = 3
	}
	os.Exit(code)
}

// verify returns what a file or folder proves. Every check below that fails ends here.
func verify(path string) (said string, isWhole bool, err error) {
	defer func() {
		if failed := recover(); failed != nil {
			err = fmt.Errorf("%v", failed)
		}
	}()
	path = must(filepath.EvalSymlinks(path))
	if must(os.Stat(path)).IsDir() {
		hasOthers = true
		return verifyFolder(path)
	}
	sum, isArchive := hashFile(path)
	if at, isExported := exported[sum]; isExported {
		delete(unused, sum)
		hasOthers = true
		more := map[bool]string{true: "; its contents are compared only in the folder of its files", false: ""}[isArchive]
		return fmt.Sprintf("proven: it is the file that the report exported, as recorded at %q%s", at, more), !isArchive, nil
	}
	require(!isArchive, "it is an archive: unpack it, and name the folder, or name the receipt of its export before it")
	found := open(readAll(path))
	if found.kind == "export.completed" {
		sum := found.content.text("sha256")
		exported[sum], unused[sum] = found.recorded, true
	}
	return fmt.Sprintf("proven: %q of %q, recorded %q; it says that it was at %q", found.kind, found.subject, found.recorded, found.at), found.hidden == 0 && !found.isLate, nil
}

// No receipt and no manifest is longer.
const longestText = 64_000_000

// openFile opens a file that is neither a device nor a pipe.
func openFile(path string) *os.File {
	require(must(os.Stat(path)).Mode().IsRegular(), "it is no file")
	return must(os.Open(path))
}

// hashFile returns the SHA-256 of a file of any length, and whether it is a zip archive.
func hashFile(path string) (sum string, isArchive bool) {
	file := openFile(path)
	defer file.Close()
	reader, hasher := bufio.NewReader(file), sha256.New()
	start, _ := reader.Peek(2)
	isArchive = string(start) == "PK"
	must(io.Copy(hasher, reader))
	return hex.EncodeToString(hasher.Sum(nil)), isArchive
}

func readAll(path string) []byte {
	file := openFile(path)
	defer file.Close()
	text := must(io.ReadAll(io.LimitReader(file, longestText+1)))
	require(len(text) <= longestText, "it is longer than it can be")
	return text
}
