package main

import (
	"fmt"
	"time"
)

// Rounds before those that are counted, as martlet-lab has them.
const warmUp = 3

// The time of one procedure, defined as martlet-lab defines it (ran/src/sample.rs): it begins just
// before the first uplink message is passed to SCTP, and ends when SCTP has returned the final
// downlink message. The part of the core is all but the own part of gNB and UE: from each downlink
// message to the uplink message that follows it.
type clock struct {
	start, downlink time.Time
	own             time.Duration
	// What the procedure took, and the part of the core.
	latency, core time.Duration
}

func (c *clock) sent(at time.Time) {
	if c.start.IsZero() {
		c.start = at
	}
	if !c.downlink.IsZero() {
		c.own += at.Sub(c.downlink)
	}
	c.downlink = time.Time{}
}

func (c *clock) received(at time.Time) { c.downlink = at }

// The message that was received last was the final one of the procedure.
func (c *clock) end() {
	c.latency = c.downlink.Sub(c.start)
	c.core = c.latency - c.own
}

// Measures a procedure.
func (p *ue) timed(procedure func()) (latency, core time.Duration) {
	p.n2.clock = clock{}
	procedure()
	return p.n2.clock.latency, p.n2.clock.core
}

// Registers, establishes a session and deregisters, one round after the other, and prints the times
// of each counted round in microseconds.
func (p *ue) measure(count int) {
	fmt.Println("procedure,round,latency_us,core_us")
	for round := -warmUp; round < count; round++ {
		registration, registrationCore := p.timed(p.register)
		session, sessionCore := p.timed(p.establish)
		p.deregister()
		if round < 0 {
			continue
		}
		row := func(name string, latency, core time.Duration) {
			micros := func(of time.Duration) float64 { return float64(of.Nanoseconds()) / 1e3 }
			fmt.Printf("%s,%d,%.1f,%.1f\n", name, round, micros(latency), micros(core))
		}
		row("registration", registration, registrationCore)
		row("pdu_session", session, sessionCore)
	}
}
