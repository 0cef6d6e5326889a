package plugintest

// Check is what a simulation looks for. The comments below say what a finding of each means.
type Check string

// The checks. Each is made in simulated runs of the same world (see [Run]); a run's end is compared with that of the
// undisturbed run, where nothing goes wrong and all goes in order.
const (
	// Panics: a sync ends without an answer. The finding has file and line.
	Panics Check = "panic"
	// Undeclared: an effect isn't among the controller's Writes, or is refused for another reason.
	Undeclared Check = "undeclared"
	// Fields: on whole objects a sync answers otherwise than on the declared fields. The finding names the paths.
	Fields Check = "fields"
	// Determinism: the same call twice gives two answers.
	Determinism Check = "determinism"
	// HiddenState: a call that is made again after others gives another answer.
	HiddenState Check = "hidden state"
	// Clock: the time isn't taken from Call.Now alone.
	Clock Check = "clock"
	// Settles: it goes on writing for ever. The finding shows the loop.
	Settles Check = "settles"
	// Fails: a key fails again and again though nothing is in its way.
	Fails Check = "fails"
	// Order: with events in another order, later caches and repeated syncs the end is another one.
	Order Check = "order"
	// Crash: after a crash before or after a write the end is another one.
	Crash Check = "crash"
	// Refused: after a write was refused once (a quota, a conflict with somebody else's change) the end is another one.
	Refused Check = "refused"
	// Asked: after an ask for a lazy view has failed once the end is another one, or something of the answer was written.
	Asked Check = "asked"
	// Resync: a sync for which nothing has happened writes, or sends an event.
	Resync Check = "resync"
	// Status: where no object can be created the key's status says what it says where all are.
	Status Check = "status"
	// Generation: status.observedGeneration isn't the generation when all has settled.
	Generation Check = "generation"
	// Foreign: others' labels and annotations are dropped, or what a person has set in a spec is overwritten.
	Foreign Check = "foreign"
	// Bystander: objects of another owner that have the same labels are changed, deleted or counted.
	Bystander Check = "bystander"
	// Precondition: an object is deleted or updated unconditionally.
	Precondition Check = "precondition"
	// Leftover: objects stay when the key's object is deleted.
	Leftover Check = "leftover"
	// Finalizer: the key's object can't go.
	Finalizer Check = "finalizer"
	// Terminating: objects that are being deleted count as there, or new ones are made for an owner that is being deleted.
	Terminating Check = "terminating"
)
