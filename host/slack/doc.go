// Package slack has the kernel wake a manager's threads up to half a millisecond late (PR_SET_TIMERSLACK of prctl(2)), not 50 µs as it does by default.
//
// Go's own monitor, a thread that a program has no hold of, sleeps for 20 µs at a time, fifty times and more whenever the process was idle and isn't any more. Of a manager that gets an event each
// millisecond, that is a tenth of its processor time and more. Nothing that a manager waits for is to be exact to less than a millisecond.
//
// A thread has its slack from the one that has started it, and only a privileged process can change another thread's. So the process starts itself anew, once, as its first act, with the slack
// that all its threads then inherit; its number, its arguments and its environment stay. Importing the package does so in a process that has "run" among its arguments, or is called
// kube-controller-manager. Where the slack isn't the default one somebody has chosen it, as with TimerSlackNSec= of systemd: it stays as it is.
package slack
