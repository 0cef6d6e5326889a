// Package pipe is how a test and windlass talk while windlass simulates a cluster around a controller that runs in the
// test's process.
//
// Both sides send frames over the program's stdin and stdout. The test sends a Job and the plugin's Manifest; windlass
// asks for syncs until it sends the Result.
package pipe

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	"github.com/windlass-dev/windlass/abi"
)

// Type is what a frame is.
type Type byte

// The frames. Messages are those of the ABI.
const (
	Job       Type = 'j' // to windlass: what is to be done, in JSON
	Manifest  Type = 'm' // to windlass: the plugin's manifest
	Configure Type = 'c' // to the test: settings; answered by Done
	Done      Type = 'd' // to windlass: what the plugin says against the settings, empty for nothing
	Sync      Type = 's' // to the test: a request; answered by Answer or Failed, and Perform before
	Elsewhen  Type = 'e' // the same, under another time of the process
	Perform   Type = 'p' // to windlass: answered by Outcome or Refused
	Outcome   Type = 'o'
	Refused   Type = 'r' // to the test: why what is performed can't be; the sync has failed
	Answer    Type = 'a'
	Failed    Type = 'f' // to windlass: the sync ended without an answer, with the text of the panic
	// to windlass: a name, a newline and the argument of a pure function of the host's; answered by Helped
	Helper Type = 'h'
	Helped Type = 'H'
	Result Type = 'R' // to the test, at the end: what came of it, in JSON
	Error  Type = 'E' // to the test, at the end: why nothing came of it
)

// most bounds a frame, in bytes.
const most = 2 * abi.MessageMax

// Conn is one side of the pipe.
type Conn struct {
	R io.Reader
	W io.Writer
}

// Send writes a frame.
func (c *Conn) Send(t Type, payload []byte) error {
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(payload)))
	_, err := c.W.Write(append(append(head, byte(t)), payload...))
	return err
}

// SendJSON writes a frame with a value in JSON.
func (c *Conn) SendJSON(t Type, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.Send(t, b)
}

// Receive reads a frame.
func (c *Conn) Receive() (Type, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(c.R, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n > most {
		return 0, nil, fmt.Errorf("a frame of %d bytes, the limit is %d", n, most)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(c.R, b)
	return Type(head[4]), b, err
}

// Expect reads a frame of a type.
func (c *Conn) Expect(t Type) ([]byte, error) {
	got, b, err := c.Receive()
	if err == nil && got != t {
		err = fmt.Errorf("got a frame %q in place of %q", got, t)
	}
	return b, err
}

// Request is the Job.
type Request struct {
	// Do is cases, golden, wakes, explore or replay.
	Do string
	// Update writes what comes out of golden cases.
	Update bool
	// File is the folder of the cases, the file of the Case, of the events, or of the finding to be replayed.
	File string
	Case string

	World       string
	Definitions []string
	With        []string
	Settings    map[string]string
	Seeds       int
	Except      []string
	Keep        []string
	Findings    string // the folder that findings are written to; empty: they aren't
}

// Response is the Result.
type Response struct {
	Runs     int       `json:",omitempty"`
	Syncs    int       `json:",omitempty"`
	Writes   int       `json:",omitempty"`
	Asked    []string  `json:",omitempty"` // controllers and lazy views of which some asks have failed
	Cases    []Case    `json:",omitempty"`
	Findings []Finding `json:",omitempty"`
}

// Case is a golden case, or an event of a file of those.
type Case struct {
	File, Topic, Name string
	Failed            string `json:",omitempty"` // of an event: how it wakes otherwise
}

// Finding is something that is wrong.
type Finding struct {
	Check, Scenario string
	Seed            int64
	Step            int
	At              string
	Message, Detail string
	File            string
	Text            string // all of it, for people
}
