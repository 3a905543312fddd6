//! Which columns a sample makes.

use super::*;

fn inferred(records: &[impl AsRef<[u8]>]) -> String {
    match infer(&[block(records)]) {
        Ok(columns) => columns.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        Err(error) => error.to_string(),
    }
}

#[test]
fn kinds_and_lists_follow_from_all_records() {
    let bytes = |value: &'static [u8]| byte_strings(&[value]);
    for (features, expected) in [
        (vec![int64s(&[1])], "x:int64"),
        (vec![floats(&[1.0])], "x:float"),
        (vec![int64s(&[1]), int64s(&[1, 2])], "x:int64[]"),
        (vec![int64s(&[]), int64s(&[1])], "x:int64"),
        (vec![int64s(&[]), int64s(&[1, 2])], "x:int64[]"),
        (vec![int64s(&[]), int64s(&[])], "x:int64[]"),
        (vec![bytes(b"text"), bytes(b"")], "x:string"),
        (vec![bytes(b"text"), bytes(b"\xff")], "x:bytes"),
        (vec![bytes(b""), bytes(b"")], "x:bytes"),
        (vec![byte_strings(&[])], "x:bytes[]"),
        (vec![byte_strings(&[b"a", b""])], "x:string[]"),
        (vec![vec![], floats(&[1.0]), vec![]], "x:float"),
        // The last member of a feature counts, and the parts of one are joined.
        (vec![[int64s(&[1, 2]), floats(&[1.0])].concat()], "x:float"),
        (vec![[int64s(&[1]), int64s(&[2])].concat()], "x:int64[]"),
        (vec![[bytes(b"\xff"), int64s(&[1]), bytes(b"a")].concat()], "x:string"),
    ] {
        let records: Vec<_> = features.iter().map(|feature| example(&[entry("x", feature)])).collect();
        assert_eq!(inferred(&records), expected, "{features:x?}");
    }
}

#[test]
fn columns_come_by_name_from_all_records() {
    let first = example(&[entry("b", int64s(&[1])), entry("a", byte_strings(&[b"a"])), entry("none", [])]);
    let second = example(&[entry("image/x", floats(&[1.0, 2.0])), entry("B", int64s(&[1]))]);
    assert_eq!(inferred(&[first, vec![], second]), "B:int64, a:string, b:int64, image/x:float[]");
}

#[test]
fn a_later_feature_replaces_an_earlier_one_of_its_name() {
    let replaced = |feature| example(&[entry("x", floats(&[1.0, 2.0])), entry("x", feature)]);
    assert_eq!(inferred(&[replaced(int64s(&[1]))]), "x:int64");
    assert_eq!(inferred(&[replaced(vec![]), example(&[entry("x", int64s(&[1]))])]), "x:int64");
}

#[test]
fn broken_records_are_left_to_the_scan() {
    let good = example(&[entry("x", int64s(&[1]))]);
    let name_is_no_text = example(&[entry(b"\xff", int64s(&[1])), entry("y", int64s(&[1]))]);
    assert_eq!(inferred(&[b"\xff".to_vec(), good, name_is_no_text]), "x:int64");
}

#[test]
fn a_thousand_records_are_looked_at() {
    let one = |name: &str| example(&[entry(name, int64s(&[1]))]);
    let blocks = [block(&vec![one("a"); 999]), block(&[one("b"), one("c")]), block(&[one("d")])];
    let columns = infer(&blocks).expect("two features");
    assert_eq!(columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn faults_say_what_to_do() {
    let kinds = [int64s(&[1]), vec![], floats(&[])].map(|feature| example(&[entry("x", feature)]));
    assert_eq!(
        inferred(&kinds),
        "feature 'x' has int64 values in the record at position 100 and float values in the one at 102; name \
         the columns in option features, as in features = 'x:int64[]'"
    );
    let hint = "name them in option features, as in features = 'label:int64, image:bytes'";
    for (records, why) in [
        (vec![], "none of the 0 records looked at has one"),
        (vec![vec![], example(&[entry("x", [])])], "none of the 2 records looked at has one"),
        (
            vec![vec![], vec![0x0a, 9]],
            "none of the 2 records looked at has one (record at position 101: message tensorflow.Example: a \
             length reaches beyond the end of the message)",
        ),
    ] {
        assert_eq!(inferred(&records), format!("no features to infer columns from: {why}; {hint}"));
    }
    let many: Vec<_> = (0..10_001).map(|index| entry(index.to_string(), int64s(&[1]))).collect();
    assert_eq!(infer(&[block(&[example(&many[1..])])]).expect("just not too many").len(), 10_000);
    assert!(
        inferred(&[example(&many)]).starts_with("the records have more than 10000 features; name the ones")
    );
}
