package main

import (
	"encoding/binary"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// columns are those of a sealed operation, with PostgreSQL's numbers of their types.
var columns = []struct {
	name string
	kind uint32
}{{"id", 2950}, {"created_at", 1184}, {"branch_id", 25}, {"endpoint_id", 25}, {"action", 25}, {"status", 25}, {"failures_count", 20}, {"error", 25},
	{"retry_at", 1184}, {"updated_at", 1184}, {"total_duration_ms", 20}, {"extra", 3802}, {"seen_at", 1184}}

// hashOperation returns the day and the hash of an operation of a project.
func hashOperation(line []byte, project string) (date string, hash tlog.Hash) {
	row := members(line)
	require(len(row) == len(columns)+1 && row.text("project_id") == project, "a line is no operation of its project")
	record := binary.BigEndian.AppendUint32(nil, uint32(len(columns)))
	for _, column := range columns {
		require(row[column.name] != nil, "an operation has no %q", column.name)
		record = binary.BigEndian.AppendUint32(record, column.kind)
		if string(row[column.name]) == "null" {
			record = binary.BigEndian.AppendUint32(record, ^uint32(0))
			continue
		}
		value := encode(column.kind, row, column.name)
		record = append(binary.BigEndian.AppendUint32(record, uint32(len(value))), value...)
	}
	return row.text("created_at")[:10], tlog.RecordHash(record)
}

var (
	isNumber  = regexp.MustCompile(`^(0|-?[1-9]\d*)$`)
	isUuid    = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	isInstant = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$`)
)

// encode returns a value as PostgreSQL's binary format has it.
func encode(kind uint32, row object, name string) []byte {
	switch kind {
	case 3802:
		require(row[name][0] == '{', "%q is no object", name)
		return append([]byte{1}, row[name]...)
	case 20:
		require(isNumber.Match(row[name]), "%q is no number", name)
		return binary.BigEndian.AppendUint64(nil, uint64(must(strconv.ParseInt(string(row[name]), 10, 64))))
	case 2950:
		require(isUuid.MatchString(row.text(name)), "%q has another form", name)
		return must(hex.DecodeString(strings.ReplaceAll(row.text(name), "-", "")))
	case 1184:
		require(isInstant.MatchString(row.text(name)), "%q has another form", name)
		at := must(time.Parse(time.RFC3339, row.text(name)))
		return binary.BigEndian.AppendUint64(nil, uint64(at.UnixMicro()-time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()))
	}
	return []byte(row.text(name))
}

// rootOf returns the root of hashes that are newest first, in hexadecimal digits.
func rootOf(hashes []tlog.Hash) string {
	if len(hashes) == 0 {
		return hash("")
	}
	root := treeHash(hashes)
	return hex.EncodeToString(root[:])
}

// treeHash returns the hash of the tree of hashes that are newest first (RFC 6962, section 2.1).
func treeHash(hashes []tlog.Hash) tlog.Hash {
	if len(hashes) == 1 {
		return hashes[0]
	}
	left := 1
	for left*2 < len(hashes) {
		left *= 2
	}
	split := len(hashes) - left
	return tlog.NodeHash(treeHash(hashes[split:]), treeHash(hashes[:split]))
}
