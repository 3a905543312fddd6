//! Options of reading and writing as settings of a session: `SET recordfusion.message_type = 'web.Request'`.

use std::any::Any;
use std::ops::Range;

use datafusion::catalog::Session;
use datafusion::config::{ConfigEntry, ConfigExtension, ExtensionOptions};
use datafusion::error::Result;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder, Statement};
use datafusion::prelude::{DataFrame, SessionContext};
use recordfusion_core::{Connector, OPEN_FILES, OptionInfo, Options, open_files};

use super::format::options_of;
use super::{RANGE, external, range_option};
use crate::registry;
use crate::write::{OVERWRITE, overwrite_option};

/// What the settings' names begin with, before a dot.
pub(super) const NAMESPACE: &str = "recordfusion";

/// The table options of a session. They are accepted by the connectors at any time, each of them and all
/// together.
#[derive(Debug, Clone, Default)]
pub(super) struct TableSettings {
    initial: Options,
    current: Options,
}

impl TableSettings {
    /// Settings that begin with, and are reset to, `initial`.
    ///
    /// # Errors
    /// Options that [`registry::check_options`] refuses.
    pub(super) fn new(initial: Options) -> Result<Self> {
        registry::check_options(&initial).map_err(external)?;
        Ok(Self { current: initial.clone(), initial })
    }

    fn reset(&mut self, name: &str) -> Result<()> {
        let initial = self.initial.get(name).unwrap_or_default().to_string();
        self.set(name, &initial)
    }
}

impl ConfigExtension for TableSettings {
    const PREFIX: &'static str = NAMESPACE;
}

impl ExtensionOptions for TableSettings {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    /// An empty value takes the setting away.
    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let known = Options::new().with(name, value).reject_unknown(&registry::all_options());
        known.map_err(external)?;
        let others = self.current.iter().filter(|(other, _)| *other != name);
        let changed = others.chain(Some((name, value)).filter(|(_, value)| !value.is_empty())).collect();
        registry::check_options(&changed).map_err(external)?;
        self.current = changed;
        Ok(())
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        let entry = |option: OptionInfo| ConfigEntry {
            key: format!("{NAMESPACE}.{}", option.name),
            value: self.current.get(option.name).map(str::to_string),
            description: option.description,
        };
        registry::all_options().into_iter().map(entry).collect()
    }
}

/// The options of a table: `given`, and the session's settings that the connector knows and that neither
/// are given nor contradict what is.
pub(super) fn table_options(session: &dyn Session, connector: &dyn Connector, given: &Options) -> Options {
    let given = options_of(connector.options(), given);
    let settings = settings(session).map(|settings| registry::read_options_of(connector, &settings.current));
    merged(&given, &settings.unwrap_or_default(), |options| connector.check_options(options).is_ok())
}

/// The options of writing, likewise. Settings that are also of reading, such as `message_type`, say how files
/// are read, not how they are written.
pub(crate) fn write_options(session: &dyn Session, connector: &dyn Connector, given: &Options) -> Options {
    let given = options_of(registry::known_write_options(connector), given);
    let settings = settings(session).map(|settings| registry::write_options_of(connector, &settings.current));
    merged(&given, &settings.unwrap_or_default(), |options| {
        connector.writing().is_some_and(|writing| writing.check_write_options(options).is_ok())
    })
}

/// `given` with those `settings` that neither are given nor contradict what is.
fn merged(given: &Options, settings: &Options, are_accepted: impl Fn(&Options) -> bool) -> Options {
    let mut options = given.clone();
    for (name, value) in settings.iter().filter(|(name, _)| given.get(name).is_none()) {
        let with_setting = options.clone().with(name, value);
        if are_accepted(&with_setting) {
            options = with_setting;
        }
    }
    options
}

fn settings(session: &dyn Session) -> Option<&TableSettings> {
    session.config_options().extensions.get::<TableSettings>()
}

/// The session's setting of a table option.
pub(crate) fn setting(session: &dyn Session, name: &str) -> Option<String> {
    settings(session)?.current.get(name).map(str::to_string)
}

/// One option alone, as it is given, or else as the session has it.
pub(crate) fn given_or_set(session: &dyn Session, given: &Options, option: OptionInfo) -> Options {
    let value = given.get(option.name).map(str::to_string).or_else(|| setting(session, option.name));
    Options::new().with(option.name, value.unwrap_or_default())
}

/// The byte range that `given` options or else the session's settings ask for.
///
/// # Errors
/// Text that is no range.
pub(crate) fn range_setting(session: &dyn Session, given: &Options) -> Result<Option<Range<u64>>> {
    range_option(&given_or_set(session, given, RANGE)).map_err(external)
}

/// How many files are opened at a time, by `given` options or else the session's settings.
///
/// # Errors
/// Text that is no such number.
pub(super) fn open_files_setting(session: &dyn Session, given: &Options) -> Result<usize> {
    open_files(&given_or_set(session, given, OPEN_FILES)).map_err(external)
}

/// Whether `given` options or else the session's settings ask to replace the files of a folder.
///
/// # Errors
/// Text that is neither `true` nor `false`.
pub(crate) fn overwrite_setting(session: &dyn Session, given: &Options) -> Result<bool> {
    let text = given.get(OVERWRITE.name).map(str::to_string).or_else(|| setting(session, OVERWRITE.name));
    overwrite_option(&Options::new().with(OVERWRITE.name, text.unwrap_or_default())).map_err(external)
}

/// Like `SessionContext::execute_logical_plan`, and executes `RESET recordfusion.<option>`: DataFusion has
/// no `RESET` for settings of extensions.
///
/// # Errors
/// Those of DataFusion; an unknown option, or one whose initial value contradicts another setting.
pub async fn execute_logical_plan(ctx: &SessionContext, plan: LogicalPlan) -> Result<DataFrame> {
    match &plan {
        LogicalPlan::Statement(Statement::ResetVariable(reset)) if reset_setting(ctx, &reset.variable)? => {
            Ok(DataFrame::new(ctx.state(), LogicalPlanBuilder::empty(false).build()?))
        }
        _ => ctx.execute_logical_plan(plan).await,
    }
}

/// `false` if the variable is no table option.
fn reset_setting(ctx: &SessionContext, variable: &str) -> Result<bool> {
    let Some((NAMESPACE, name)) = variable.split_once('.') else { return Ok(false) };
    let state = ctx.state_ref();
    let mut state = state.write();
    match state.config_mut().options_mut().extensions.get_mut::<TableSettings>() {
        Some(settings) => settings.reset(name).map(|()| true),
        None => Ok(false),
    }
}
