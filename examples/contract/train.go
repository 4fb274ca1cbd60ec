// A trainer that keeps the checkpoint contract, in Go's standard library alone; one process.
// The rules: docs/checkpoint-contract-spec.md. Build: go build -o train examples/contract/train.go
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

const stepTime = 20 * time.Millisecond

type fields map[string]any

var (
	directory   = variable("SHUNTYARD_CHECKPOINT_DIR", "checkpoints")
	folder      = filepath.Join(directory, ".shuntyard")
	metrics     = variable("SHUNTYARD_METRICS_FILE", os.DevNull)
	uid         = os.Getenv("SHUNTYARD_POD_UID")
	safe        = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)
	started     = regexp.MustCompile(`^start-([0-9]{1,18})-([0-9]{1,18})[.]json$`)
	terminating atomic.Bool
	mine        [2]int // generation and number of this start
)

func variable(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func now() float64 { return float64(time.Now().UnixNano()) / 1e9 }

func isLater(a, b [2]int) bool { return a[0] > b[0] || (a[0] == b[0] && a[1] > b[1]) }

// latest returns generation and number of the latest start in the directory.
func latest() (last [2]int) {
	entries, _ := os.ReadDir(folder)
	for _, entry := range entries {
		if found := started.FindStringSubmatch(entry.Name()); found != nil {
			generation, _ := strconv.Atoi(found[1])
			count, _ := strconv.Atoi(found[2])
			if start := [2]int{generation, count}; isLater(start, last) {
				last = start
			}
		}
	}
	return last
}

// endIfStale ends without a save if another copy of this training has begun.
func endIfStale() {
	if isLater(latest(), mine) {
		os.Exit(143)
	}
}

// begin leaves the file of this start, then removes what earlier ones left, but the latest eight.
func begin() error {
	last := latest()
	generation, err := strconv.Atoi(variable("SHUNTYARD_GENERATION", strconv.Itoa(last[0])))
	if err != nil {
		return fmt.Errorf("SHUNTYARD_GENERATION: expected a number: %w", err)
	}
	mine = [2]int{generation, 1}
	if generation == last[0] {
		mine[1] = last[1] + 1
	}
	endIfStale()
	own := fields{
		"version": 1, "generation": mine[0], "number": mine[1], "pod_uid": uid, "at": now(),
	}
	temporary, err := flushed(filepath.Join(folder, "start"), own)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("start-%d-%d.json", mine[0], mine[1])
	if err := os.Link(temporary, filepath.Join(folder, name)); err != nil { // fails if it exists
		return err
	}
	left, _ := filepath.Glob(filepath.Join(folder, ".*.trainer-tmp"))
	for _, path := range append(left, old()...) {
		_ = os.Remove(path)
	}
	return nil
}

// old returns the files of all but the latest eight answers and starts.
func old() (found []string) {
	written := func(path string) int64 {
		if about, err := os.Stat(path); err == nil {
			return about.ModTime().UnixNano()
		}
		return 0
	}
	answers, _ := filepath.Glob(filepath.Join(folder, "ack-*.json"))
	sort.Slice(answers, func(i, j int) bool { return written(answers[i]) < written(answers[j]) })
	starts, _ := filepath.Glob(filepath.Join(folder, "start-*.json"))
	order := func(path string) (start [2]int) {
		if found := started.FindStringSubmatch(filepath.Base(path)); found != nil {
			start[0], _ = strconv.Atoi(found[1])
			start[1], _ = strconv.Atoi(found[2])
		}
		return start
	}
	sort.Slice(starts, func(i, j int) bool { return isLater(order(starts[j]), order(starts[i])) })
	for _, paths := range [][]string{answers, starts} {
		found = append(found, paths[:max(0, len(paths)-8)]...)
	}
	return found
}

// flushed writes a temporary file durably, and returns its path.
func flushed(path string, content any) (string, error) {
	data, err := json.Marshal(content)
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf(".%s.%d-%d.trainer-tmp", filepath.Base(path), mine[0], mine[1])
	temporary := filepath.Join(filepath.Dir(path), name)
	file, err := os.Create(temporary)
	if err != nil {
		return "", err
	}
	if _, err = file.Write(data); err == nil {
		err = file.Sync()
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	return temporary, err
}

// write puts a file whole and durably under its name, or not at all.
func write(path string, content any) error {
	temporary, err := flushed(path, content)
	if err != nil {
		return err
	}
	endIfStale()
	if err := os.Rename(temporary, path); err != nil {
		return err
	}
	parent, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer parent.Close()
	return parent.Sync()
}

// put writes one of the contract's files.
func put(name string, content fields) {
	content["version"] = 1
	if err := write(filepath.Join(folder, name), content); err != nil {
		fmt.Fprintln(os.Stderr, name, err)
	}
}

// read returns a file of the contract; empty if it is missing, not JSON or of another version.
func read(name string) fields {
	var found fields
	data, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil || json.Unmarshal(data, &found) != nil || number(found, "version") != 1 {
		return fields{}
	}
	return found
}

func number(from fields, key string) float64 { value, _ := from[key].(float64); return value }
func text(from fields, key string) string    { value, _ := from[key].(string); return value }

// save writes a checkpoint and saved.json, and returns the fields of an answer.
func save(step int, weight float64) (fields, error) {
	begun := now()
	name := "step-" + strconv.Itoa(step)
	if err := write(filepath.Join(directory, name), fields{"step": step, "weight": weight}); err != nil {
		return nil, err
	}
	info, err := os.Stat(filepath.Join(directory, name))
	if err != nil {
		return nil, err
	}
	saved := fields{
		"step": step, "path": name, "bytes": info.Size(), "started_at": begun, "finished_at": now(),
	}
	put("saved.json", saved)
	return saved, nil
}

// request returns the id of a new request for this pod; empty without one.
func request() string {
	endIfStale()
	found := read("request.json")
	id := text(found, "id")
	pod, isText := found["pod_uid"].(string)
	wanted := text(found, "action") == "checkpoint" && number(found, "deadline") > now()
	if !wanted || !isText || !safe.MatchString(id) || (pod != "" && pod != uid) || answered(id) {
		return ""
	}
	return id
}

func answered(id string) bool { return len(read("ack-"+id+".json")) > 0 }

func answer(id string, saved fields) {
	content := fields{"id": id, "pod_uid": uid, "ok": true, "error": ""}
	for key, value := range saved {
		content[key] = value
	}
	put("ack-"+id+".json", content)
}

func answerFailure(id string, step int, err error) {
	put("ack-"+id+".json", fields{
		"id": id, "pod_uid": uid, "ok": false, "error": err.Error(), "path": "", "bytes": 0,
		"step": step, "started_at": now(), "finished_at": now(),
	})
}

// hold takes no step until SIGTERM, a cancel, or the deadline.
func hold(id string, saved fields) {
	for !terminating.Load() {
		if other := request(); other != "" {
			id = other
			answer(id, saved)
		}
		found := read("request.json")
		cancelled := text(found, "id") == id && text(found, "action") == "cancel"
		if cancelled || number(found, "hold_deadline") <= now() {
			why := "deadline"
			if cancelled {
				why = "cancelled"
			}
			put("released.json", fields{"id": id, "at": now(), "why": why})
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	os.Exit(143)
}

// heldBefore returns the request for which this pod held when it was ended; empty without one.
func heldBefore() string {
	found := read("request.json")
	id := text(found, "id")
	ok, _ := read("ack-" + id + ".json")["ok"].(bool)
	if uid == "" || text(found, "pod_uid") != uid || !ok || text(read("released.json"), "id") == id {
		return ""
	}
	return id
}

// start returns the step and the weight to continue with, and reports that training begins.
func start() (int, float64) {
	saved := read("saved.json")
	step, weight := int(number(saved, "step")), 0.0
	var resumed any
	if len(saved) > 0 {
		resumed = step
		var checkpoint fields
		data, err := os.ReadFile(filepath.Join(directory, text(saved, "path")))
		if err == nil {
			err = json.Unmarshal(data, &checkpoint)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "training begins at the start:", err)
			step, resumed = 0, nil
		}
		weight = number(checkpoint, "weight")
	}
	put("trainer.json", fields{
		"pid": os.Getpid(), "started_at": now(), "resumed_step": resumed, "pod_uid": uid,
		"exits_zero_on_term": false, "rank": 0, "world_size": 1, "generation": mine[0],
	})
	if id := heldBefore(); id != "" {
		hold(id, saved)
	}
	return step, weight
}

// boundary answers a request, or saves and ends after SIGTERM.
func boundary(step int, weight float64) {
	id := request()
	if id == "" && !terminating.Load() {
		return
	}
	saved, err := save(step, weight)
	switch {
	case id == "":
		os.Exit(143)
	case err != nil:
		answerFailure(id, step, err)
	default:
		answer(id, saved)
		hold(id, saved)
	}
}

func main() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() {
		for range signals {
			terminating.Store(true)
		}
	}()
	_ = os.MkdirAll(folder, 0o775)
	_ = os.Chmod(folder, 0o775|os.ModeSetgid)
	steps, err := strconv.Atoi(variable("STEPS", "2000"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "STEPS: expected a number:", err)
		os.Exit(2)
	}
	log, err := os.OpenFile(metrics, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o664)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := begin(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	step, weight := start()
	for step < steps {
		weight += 0.5 * (1 - weight) // a step of the training
		time.Sleep(stepTime)
		step++
		fmt.Fprintf(log, "{\"step\": %d, \"loss\": %g}\n", step, 1-weight)
		_ = os.Remove(filepath.Join(folder, "done.json"))
		boundary(step, weight)
	}
	if _, err := save(step, weight); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	put("done.json", fields{"step": step, "finished_at": now()})
}
