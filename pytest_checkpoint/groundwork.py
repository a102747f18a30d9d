"""What is known of a subject before anything is explored, and what is to be explored of it."""

from __future__ import annotations

from checkpoint_contracts import RESTORED
from checkpoint_contracts.contract import Contract
from checkpoint_contracts.evidence import Evidence, Fault
from pytest_checkpoint.options import Options
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.liveness.asking import declared as declared_heartbeat
from pytest_checkpoint.phases.store.ahead import ahead_of
from pytest_checkpoint.states.outputs import find_outputs
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.subject import Subject


def contracts_of(options: Options) -> tuple[Contract, ...]:
    """Those that were selected."""
    return tuple(
        contract
        for contract in options.catalogue.values()
        if options.contracts is None or contract.id in options.contracts
    )


def faults_of(options: Options, subject: Subject) -> frozenset[Fault]:
    """Those asked for that some selected contract looks at, if it is a promise of the subject's."""
    promised = [one for one in contracts_of(options) if one.id not in subject.not_applicable]
    needed = frozenset[Fault]().union(*(one.faults for one in promised))
    crashes_once = {Fault.SECOND_CRASH} if options.depth < 2 else set[Fault]()
    return (options.faults & needed) - crashes_once


def evidence_of(bench: Bench, control: Control, source: StateSource) -> Evidence:
    """From the control run and the recording alone."""
    unobservable = {}
    if control.unreadable:
        sentence = (
            "stores through a shared mapping could not be read, so its states are not known: "
            + ", ".join(control.unreadable)
        )
        unobservable = dict.fromkeys(
            [*RESTORED, Fault.CHANGED, Fault.STAGING_GONE, Fault.STORE_SLOW], sentence
        )
    subject, options = bench.subject, bench.options
    outputs = find_outputs(source.timeline, source.operations, subject.outputs, subject.ephemeral)
    return Evidence(
        subject=subject.name,
        capabilities=subject.capabilities,
        faults=faults_of(options, subject),
        not_applicable=subject.not_applicable,
        unobservable=unobservable,
        reference=control.reference,
        outputs=outputs.paths,
        partial_outputs=outputs.partial,
        markers_ahead=ahead_of(bench, control.reference, source),
        restart_ratio=options.restart_ratio,
        heartbeat=declared_heartbeat(subject),
    )


def invalid_evidence(subject: Subject, options: Options, sentence: str) -> Evidence:
    """Where nothing can be concluded, and why."""
    return Evidence(
        subject=subject.name,
        capabilities=subject.capabilities,
        faults=options.faults,
        not_applicable=subject.not_applicable,
        invalid=sentence,
        restart_ratio=options.restart_ratio,
    )
