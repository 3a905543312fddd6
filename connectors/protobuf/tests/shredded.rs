//! Rows, positions and facts that a walk over shredded records cannot have met.

use recordfusion_core::{Projection, ScanCounters};
use recordfusion_protobuf::BatchDecoder;
use recordfusion_protobuf::shredded::{FieldFacts, Layout, Meaning, Note, Occurrences, Unfit};

use crate::support::decoder_with;

const SOURCE: &str = "syntax = 'proto3';
    message Sub { int32 x = 1; }
    message M { Sub one = 1; repeated Sub many = 2; oneof o { Sub member = 3; int32 number = 4; } sint64 z = 5; }";

fn scan() -> BatchDecoder {
    let decoder = decoder_with(SOURCE, &[("oneof_case", "true"), ("metadata_columns", "position")]);
    decoder.scan(&Projection::all(decoder.schema().fields().len())).expect("a plan")
}

/// How many rows three records at `position` make, with what `note` meets in them.
fn rows(position: u64, note: impl FnOnce(&mut Occurrences, &Layout)) -> Result<usize, Unfit> {
    let mut scan = scan();
    let layout = scan.layout().expect("no whole records");
    let mut occurrences = Occurrences::default();
    occurrences.reset(&layout);
    note(&mut occurrences, &layout);
    occurrences.finish(3)?;
    let batch = scan.assemble(&layout, &occurrences, "f", position, &ScanCounters::default(), |_| Ok(()))?;
    Ok(batch.num_rows())
}

#[test]
fn rows_that_there_are_not_are_unfit() {
    for (records, expected) in [(0, Ok(3)), (2, Ok(3)), (3, Err(Unfit)), (u32::MAX, Err(Unfit))] {
        for tag in [0x0a, 0x12, 0x1a, 0x20] {
            let found = rows(0, |occurrences, layout| match layout.meaning(Layout::RECORD, tag) {
                Meaning::Message(message) if layout.is_chosen_message(message) => {
                    occurrences.open(layout, message, records);
                }
                Meaning::Message(message) => {
                    occurrences.note_all(&[Note::message(message).after(records)]);
                }
                Meaning::Number(leaf) => occurrences.value(layout, records, leaf, 0),
                other => panic!("{other:?}"),
            });
            assert_eq!(found, expected, "{records} {tag:x}");
        }
    }
}

#[test]
fn positions_that_there_are_not_are_unfit() {
    assert_eq!(rows(u64::MAX - 3, |_, _| ()), Ok(3));
    assert_eq!(rows(u64::MAX - 2, |_, _| ()), Err(Unfit));
}

#[test]
fn varints_are_bounded_however_long_they_are_said_to_be() {
    let scan = scan();
    let column = scan.schema().index_of("z").expect("a column");
    let bounds = |longest| {
        let bounds = scan.bounds(column, |_| FieldFacts { occurs: true, small: 0, longest });
        let bounds = bounds.expect("an integer has some");
        (bounds.low, bounds.high)
    };
    assert_eq!(bounds(u32::MAX), bounds(10));
}
